// The judge of plans: executes every phase symbolically, on every plan, in release builds too. It sees what a Training
// demands and what a PlanSet says, and shares no code with the stages in between.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "memory/plan.h"

namespace thimble {

struct PhaseToVerify {
  const Training* training = nullptr;
  std::span<const Bytes> workspace_bytes;  // by node: what the chosen kernel needs
};

// Nothing if every step of every phase reads what its node demands, nothing is overwritten that is still wanted, and
// all persistent values end as the Training says; else one sentence with phase, step, value, bytes, found and wanted.
// `phases` stand in the order of set.phases.
std::optional<std::string> find_fault(std::span<const PhaseToVerify> phases, const PlanSet& set);

// The same; a fault is an InternalError.
void verify_plan(std::span<const PhaseToVerify> phases, const PlanSet& set);

}  // namespace thimble
