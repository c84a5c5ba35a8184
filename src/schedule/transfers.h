// Transfers between arena and spill file, as explicit steps of a schedule: where each starts and where it is waited
// for.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace thimble {

// What lives in the spill file, beside activations whose Keep says so, and how far ahead of use it is moved.
struct Offload {
  std::vector<bool> homes;  // by value: persistent values, each the owner of its storage; empty: none
  int ahead = 0;            // a transfer may take this many steps beside its own; 0: the next step waits for it
  double bytes_per_second = 500e6;

  bool has_homes() const;
};

// By value: whether it may have its home in the spill file: persistent, no pool, no metric, and worth a transfer.
std::vector<bool> spillable_values(const Graph& graph);

// Adds all transfers that the schedule's spilled activations and `offload` ask for. Near uses of a persistent value
// share one copy in the arena; a copy that was written is stored, any other is just left. The schedule's predicted time
// grows by what it waits.
void add_transfers(const Selected& selected, const Offload& offload, PhaseSchedule& schedule);

}  // namespace thimble
