#include "run/mover.h"

#include <algorithm>

namespace thimble {

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

std::uint64_t Mover::start(const BoundTransfer& transfer) noexcept {
  std::unique_lock lock(mutex_);
  has_done_.wait(lock, [&] { return started_ - done_ < ring_.size(); });
  ring_[started_ % ring_.size()] = transfer;
  const std::uint64_t number = ++started_;
  lock.unlock();
  has_work_.notify_one();
  return number;
}

Status Mover::wait(std::uint64_t number) noexcept {
  std::unique_lock lock(mutex_);
  has_done_.wait(lock, [&] { return done_ >= number; });
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
    Status status = Status::failed;
    if (is_good) {
      status = transfer.direction == Direction::load ? file_.read(transfer.offset, transfer.arena)
                                                     : file_.write(transfer.offset, transfer.arena);
    }
    lock.lock();
    if (status != Status::good) status_ = status;
    ++done_;
    has_done_.notify_all();
  }
}

}  // namespace thimble
