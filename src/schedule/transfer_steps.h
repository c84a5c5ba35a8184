// Where among the steps transfers start and end, and what waiting for them costs.
#pragma once

#include <vector>

#include "schedule/transfers.h"

namespace thimble {

// A transfer that has yet to find its place. Positions count the steps before it.
struct Move {
  Direction direction = Direction::load;
  std::int32_t instance = -1;
  std::int32_t slot = -1;
  std::int32_t ready = 0;  // earliest start: the spill file (load) or the arena (store) holds the value from here on
  std::int32_t held = 0;   // load: the step that wants it; store: the arena's end is held until here anyway
  std::int32_t start = 0;
  std::int32_t wait = 0;
};

// Sets `start` and `wait` by the time that transfers and steps between are predicted to take. A load never starts
// before the store before it, in the same slot, has ended.
void place_moves(const Selected& selected, const Offload& offload, const PhaseSchedule& schedule,
                 std::vector<Move>& moves);

// Adds start and wait steps, and transfers in the order of their starts.
void insert_moves(PhaseSchedule& schedule, const std::vector<Move>& moves);

void set_slot_lifetimes(PhaseSchedule& schedule);

// One thread moves bytes in the order of the starts while the steps run; a wait step stands still until its transfer is
// done.
double simulated_seconds(const Selected& selected, const Offload& offload, const PhaseSchedule& schedule);

}  // namespace thimble
