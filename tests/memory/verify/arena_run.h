// Runs a plan on real bytes, by the ops' references. The plan may be wrong in any way: what would be undefined
// behaviour in a real run ends this one.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "memory/verify/real_plans.h"

namespace thimble::testing {

// All persistent values after each phase of one iteration, in the order of `plan.set.persistents`; nothing if the plan
// leaves the arena, misaligns a tensor or gives a node too few operands. Before and after every step its workspace is
// filled with rubbish, as are all transients before the first phase. A plan with transfers runs twice, since nobody
// knows when they happen: once with each at its start, once with each at its wait and rubbish at its target until then.
std::optional<std::vector<std::byte>> run_iteration(const RealPlan& plan);

}  // namespace thimble::testing
