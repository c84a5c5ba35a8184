// Choices of what to hold, drawn at random.
#pragma once

#include "base/random.h"
#include "schedule/schedule.h"
#include "search/strategies.h"

namespace thimble::testing {

// Modes at random, and the opposite of what they say for some gaps, forward ones among them.
inline Holding random_holding(const Scheduler& scheduler, std::uint64_t turn) {
  const RandomKey key = random_key(11, RandomPurpose::test, turn);
  Holding holding{scheduler.keep_all()};
  std::uint64_t draw = 0;
  for (const ValueId value : large_candidates(scheduler))
    holding.mode(value) = static_cast<Keep>(random_below(key, draw++, 3));
  for (const ValueId value : scheduler.waiting_gradients())
    holding.mode(value) = static_cast<Keep>(random_below(key, draw++, 2));
  if (turn % 3 == 0) return holding;
  for (const Gap& gap : scheduler.gaps(holding)) {
    if (random_below(key, draw++, 8) == 0) holding.set({gap.value, gap.after, !gap.is_held});
  }
  return holding;
}

}  // namespace thimble::testing
