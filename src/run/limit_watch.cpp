#include "run/limit_watch.h"

#include <utility>

namespace thimble {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kPause = milliseconds(100);  // between two looks: some ten system calls each
constexpr auto kWindow = seconds(1);
constexpr auto kCalm = seconds(30);
constexpr double kMostStall = 0.1;

}  // namespace

LimitWatch::LimitWatch(Clock::time_point now, MeterFiles files)
    : files_(std::move(files)),
      limit_(memory_limit_bytes(files_)),
      stall_(memory_stall_microseconds(files_)),
      looked_(now),
      window_(now),
      calm_(now) {}

std::optional<LimitWatch::News> LimitWatch::look(Clock::time_point now, const Sizes& sizes) {
  if (now - looked_ < kPause) return std::nullopt;
  looked_ = now;
  if (const Bytes limit = memory_limit_bytes(files_); limit != limit_) {
    limit_ = limit;
    has_yielded_ = false;
    return News{limit, "the system's limit moved"};
  }
  return now - window_ >= kWindow ? look_at_pressure(now, sizes) : std::nullopt;
}

std::optional<LimitWatch::News> LimitWatch::look_at_pressure(Clock::time_point now, const Sizes& sizes) {
  const std::int64_t stall = memory_stall_microseconds(files_);
  const std::chrono::duration<double, std::micro> passed = now - window_;
  const double share = static_cast<double>(stall - stall_) / passed.count();
  stall_ = stall;
  window_ = now;
  if (share > kMostStall) {
    calm_ = now;
    if (sizes.smaller == 0) return std::nullopt;
    has_yielded_ = true;
    return News{sizes.smaller, "others wait for memory"};
  }
  if (!has_yielded_ || now - calm_ < kCalm) return std::nullopt;
  calm_ = now;
  has_yielded_ = sizes.larger > 0 && sizes.larger < limit_;
  return News{has_yielded_ ? sizes.larger : limit_, "nobody waits for memory any more"};
}

}  // namespace thimble
