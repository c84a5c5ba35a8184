// Random requests of the shapes that training makes, and of shapes that it does not. Pure functions of size and seed.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/place/request.h"

namespace thimble {

std::vector<Request> random_case(int count, std::uint64_t seed);      // any size, any lifetime
std::vector<Request> nested_case(int count, std::uint64_t seed);      // request i lives from step i to step 2n - i
std::vector<Request> chain_case(int count, std::uint64_t seed);       // each lives until the next two are made
std::vector<Request> equal_size_case(int count, std::uint64_t seed);  // any lifetime, one size
std::vector<Request> sparse_case(int count, std::uint64_t seed);      // every third asks for zero bytes, odd sizes
std::vector<Request> crowded_case(int count, std::uint64_t seed);     // few steps, so that nearly all meet

// A residual network of `block_count` blocks: parameters and optimizer state live throughout, kept activations from
// their forward to their backward step, outputs, gradients and workspaces for a step or two, shortcuts and their
// gradients for a block.
std::vector<Request> training_case(int block_count, std::uint64_t seed);

// The same network when a random part of the kept activations is dropped and made again, block by block, in backward.
std::vector<Request> recompute_case(int block_count, std::uint64_t seed);

// A network of layers of uneven sizes, from which kept activations alive at the busiest step have been dropped and made
// again until none is left there: nearly every step is as busy as the busiest, which leaves a placement no room for
// error.
std::vector<Request> budgeted_case(int layer_count, std::uint64_t seed);

}  // namespace thimble
