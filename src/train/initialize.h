// The state a run starts from, as a pure function of the seed. An element's number is keyed by its tensor's name and
// its index in PyTorch's order, so neither our layout, nor sparsity, nor threads change it.
#pragma once

#include <cstdint>

#include "train/state_view.h"

namespace thimble {

struct InitializeOptions {
  std::uint64_t seed = 0;
  double sparsity = 0;
  int threads = 1;  // changes no result
};

// Network tensors as their specs say, everything else zero. A sparse tensor gets sparse_nonzeros() positions at random,
// and there the values that the dense tensor would have.
void initialize(const StateView& state, const InitializeOptions& options);

}  // namespace thimble
