// The thread that moves bytes between arena and spill file while steps run: first come, first served.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "run/spill_file.h"

namespace thimble {

struct BoundTransfer {
  Direction direction = Direction::load;
  std::span<std::byte> arena;
  Bytes offset = 0;  // in the file
};

// How long the thread moved bytes, and how long steps waited for it: what did not wait was overlapped.
struct TransferTimes {
  double moving_seconds = 0, waiting_seconds = 0;
};

class Mover {
 public:
  // `most`: transfers that may wait their turn at once; a start beyond that waits for room.
  Mover(SpillFile& file, std::size_t most);
  ~Mover();  // after all that was started is done
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  // Returns its number, counted from 1. Both ends are the thread's until it was waited for.
  std::uint64_t start(const BoundTransfer& transfer) noexcept;
  // Until that number, and so all before it, are done. Failed as soon as any transfer ever was.
  Status wait(std::uint64_t number) noexcept;

  TransferTimes times() noexcept;
  std::uint64_t started() const noexcept { return started_; }  // by the thread that starts them
  SpillFile& file() const { return file_; }

 private:
  template <typename Ready>
  void wait_until(std::unique_lock<std::mutex>& lock, Ready&& is_ready) noexcept;
  void serve() noexcept;

  SpillFile& file_;
  std::vector<BoundTransfer> ring_;
  std::mutex mutex_;
  std::condition_variable has_work_, has_done_;
  std::uint64_t started_ = 0, done_ = 0;
  TransferTimes times_;
  Status status_ = Status::good;
  bool ends_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace thimble
