#include "run/mover.h"

#include <algorithm>
#include <chrono>

namespace thimble {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }

}  // namespace

Mover::Mover(SpillFile& file, std::size_t most)
    : file_(file), ring_(std::max<std::size_t>(most, 1)), thread_([this] { serve(); }) {}

Mover::~Mover() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  has_work_.notify_one();
  thread_.join();
}

// Until the thread has done what `is_ready` asks for.
template <typename Ready>
void Mover::wait_until(std::unique_lock<std::mutex>& lock, Ready&& is_ready) noexcept {
  if (is_ready()) return;
  const Clock::time_point begun = Clock::now();
  has_done_.wait(lock, is_ready);
  times_.waiting_seconds += seconds_since(begun);
}

TransferTimes Mover::times() noexcept {
  const std::lock_guard lock(mutex_);
  return times_;
}

std::uint64_t Mover::start(const BoundTransfer& transfer) noexcept {
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return started_ - done_ < ring_.size(); });
  ring_[started_ % ring_.size()] = transfer;
  const std::uint64_t number = ++started_;
  lock.unlock();
  has_work_.notify_one();
  return number;
}

Status Mover::wait(std::uint64_t number) noexcept {
  std::unique_lock lock(mutex_);
  wait_until(lock, [&] { return done_ >= number; });
  return status_;
}

void Mover::serve() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [&] { return ends_ || done_ < started_; });
    if (done_ == started_) return;
    const BoundTransfer transfer = ring_[done_ % ring_.size()];
    const bool is_good = status_ == Status::good;
    lock.unlock();
    const Clock::time_point begun = Clock::now();
    Status status = Status::failed;
    if (is_good) {
      status = transfer.direction == Direction::load ? file_.read(transfer.offset, transfer.arena)
                                                     : file_.write(transfer.offset, transfer.arena);
    }
    lock.lock();
    times_.moving_seconds += seconds_since(begun);
    if (status != Status::good) status_ = status;
    ++done_;
    has_done_.notify_all();
  }
}

}  // namespace thimble
