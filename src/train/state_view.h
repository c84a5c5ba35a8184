// The persistent part of a bound program as the state of a network, and the part of the arena that is free between
// iterations.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "models/model.h"
#include "run/program.h"

namespace thimble {

using Persistents = std::span<const Program::Persistent>;

struct StateView {
  Persistents persistents;
  std::span<const TensorSpec> tensors;          // of the network, dense
  std::span<const std::string> sparse_tensors;  // those that are held in pools, by slot
  std::span<std::byte> scratch;                 // the transient part of the arena: the next phase overwrites it
  SpillFile* spill = nullptr;                   // home of the persistents that have no data in memory
};

const Program::Persistent* find_persistent(Persistents persistents, std::string_view name);   // null if there is none
const Program::Persistent& known_persistent(Persistents persistents, std::string_view name);  // InternalError if none
TensorView get_persistent(Persistents persistents, std::string_view name);  // the same, of one in the arena

// Memory for the value: its own in the arena or, for one that lives in the spill file, the start of the scratch, which
// it has until the next call. fetch() fills it with what the file holds, room_for() leaves that to the caller.
// put_back() hands on what was written there. UserError if the file fails.
TensorView fetch(const StateView& state, const Program::Persistent& persistent);
TensorView room_for(const StateView& state, const Program::Persistent& persistent);
void put_back(const StateView& state, const Program::Persistent& persistent);

// Sums over microbatches and metrics are dead between iterations; everything else persistent is state.
bool is_state(Role role);

std::span<std::byte> bytes_of(const TensorView& view);

// The first floating value of the state that holds a NaN or an infinity; null if all is finite.
const Program::Persistent* find_not_finite(const StateView& state);

}  // namespace thimble
