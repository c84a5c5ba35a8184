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
};

const Program::Persistent* find_persistent(Persistents persistents, std::string_view name);  // null if there is none
TensorView get_persistent(Persistents persistents, std::string_view name);  // InternalError if there is none

// Sums over microbatches and metrics are dead between iterations; everything else persistent is state.
bool is_state(Role role);

std::span<std::byte> bytes_of(const TensorView& view);

// The first floating value of the state that holds a NaN or an infinity; null if all is finite.
const Program::Persistent* find_not_finite(Persistents persistents);

}  // namespace thimble
