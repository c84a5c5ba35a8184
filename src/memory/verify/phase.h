// One phase of a plan, executed symbolically from the state before it to the state after it.
#pragma once

#include <optional>
#include <string>

#include "memory/verify/verify.h"

namespace thimble {

inline constexpr Bytes kPlaceAlignment = 64;  // stated again on purpose: the judge does not ask the planner

// Persistent places must have been judged before: aligned, disjoint and below set.persistent_bytes.
std::optional<std::string> find_phase_fault(const PhaseToVerify& phase, const PhasePlan& plan, const PlanSet& set);

// Whether the list of transient buffers, which reports draw and test configurations poison, is true of the steps.
std::optional<std::string> find_buffer_fault(const Graph& graph, const PhasePlan& plan, const PlanSet& set);

}  // namespace thimble
