// Follows what the system leaves to this process: limits of cgroups that move, and memory that others wait for. Asked
// often, looks seldom; knows nothing of plans but the sizes it is told.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "run/meter.h"

namespace thimble {

class LimitWatch {
 public:
  using Clock = std::chrono::steady_clock;

  LimitWatch(Clock::time_point now, MeterFiles files = {});

  // What the run would hold one plan smaller or larger; zero: there is none.
  struct Sizes {
    Bytes smaller = 0, larger = 0;
  };
  struct News {
    Bytes budget = 0;
    std::string reason;
  };

  // A limit that moved is the new budget. While tasks wait for memory more than a tenth of the time, the budget goes
  // down a plan a second; once nothing has waited for half a minute it goes up again, a plan at a time, to the limit.
  std::optional<News> look(Clock::time_point now, const Sizes& sizes);

  Bytes limit() const { return limit_; }

 private:
  std::optional<News> look_at_pressure(Clock::time_point now, const Sizes& sizes);

  MeterFiles files_;
  Bytes limit_ = 0;
  bool has_yielded_ = false;  // to pressure: the budget is below the limit
  std::int64_t stall_ = 0;    // at window_
  Clock::time_point looked_, window_, calm_;
};

}  // namespace thimble
