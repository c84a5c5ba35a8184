// Ways to alter a plan, from a nudged offset to an update done twice. An altered plan may still be right: that is for a
// run on real bytes to say.
#pragma once

#include <span>
#include <string_view>

#include "memory/verify/real_plans.h"

namespace thimble::testing {

struct Mutation {
  std::string_view name;
  bool (*apply)(RealPlan&, Dice&) = nullptr;  // false: the plan has nothing to alter in this way
};

std::span<const Mutation> mutations();           // all of them
std::span<const Mutation> transfer_mutations();  // those that need a plan with transfers

}  // namespace thimble::testing
