// Schedule -> Plan: gives every buffer of every phase its bytes in the one arena.
#pragma once

#include <span>

#include "memory/buffers.h"
#include "memory/plan.h"

namespace thimble {

struct PlanOptions {
  // One of several plans that take turns with one spill file: staging of the largest size, and in the file room of its
  // own for every value that another plan may have there.
  bool shares_spill = false;
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
