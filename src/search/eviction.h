// What a run-time that knows no plan would do: hold everything, and when a step does not fit, drop values until it
// does, the one with the lowest score first. Dropped values are made again on demand.
#pragma once

#include <vector>

#include "search/strategies.h"

namespace thimble {

// One schedule for each of a series of limits, "sage 81%" or "greedy 81%" of what keeping all needs.
// `sage` scores (time + 1) / (size + 1), with seconds and elements, as Gim & Ko's program does; `greedy` scores time
// over bytes and time since the last use, where time counts the dropped neighbours that would have to be made again as
// well (Kirisame et al. 2021, the rule with equivalence classes). The series ends at a limit that cannot be held, or
// under which values are made again for each other without end.
std::vector<Strategy> eviction_strategies(const Scheduler& scheduler, const std::vector<ValueId>& large,
                                          Recompute family);

}  // namespace thimble
