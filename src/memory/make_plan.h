// Schedule -> Plan: gives every buffer of every phase its bytes in the one arena.
#pragma once

#include <span>

#include "memory/buffers.h"
#include "memory/plan.h"

namespace thimble {

struct PlanOptions {
  BufferOptions buffers;
  Bytes guard = 0;  // a test configuration: this many bytes stay free on both sides of every transient buffer
};

struct ScheduledPhase {
  const Selected* selected = nullptr;
  const PhaseSchedule* schedule = nullptr;
};

// Of a plan whose largest transfer is of this many bytes.
Bytes staging_bytes(Bytes largest);

PlanSet make_plan_set(std::span<const ScheduledPhase> phases, const PlanOptions& options);

}  // namespace thimble
