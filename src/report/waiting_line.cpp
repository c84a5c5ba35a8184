#include "report/waiting_line.h"

namespace thimble {
namespace {

constexpr std::chrono::seconds kTick{1};

}  // namespace

WaitingLine::WaitingLine(std::FILE* out, std::string what, std::chrono::milliseconds pause)
    : out_(out), what_(std::move(what)) {
  if (out_ != nullptr) thread_ = std::thread([this, pause] { run(pause); });
}

WaitingLine::~WaitingLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void WaitingLine::run(std::chrono::milliseconds pause) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  Clock::time_point next = begin + pause;
  bool is_shown = false;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_until(lock, next, [&] { return is_over_; })) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin).count();
    std::fprintf(out_, "\r\033[K%s, %lld s", what_.c_str(), static_cast<long long>(seconds));
    std::fflush(out_);
    is_shown = true;
    next += kTick;
  }
  if (!is_shown) return;
  std::fprintf(out_, "\r\033[K");
  std::fflush(out_);
}

}  // namespace thimble
