// Which phases an iteration is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "grad/training.h"

namespace thimble {

// One phase's turn in an iteration: `offset` is the index, in the batch, of its first sample.
struct PhaseTurn {
  Phase phase;
  std::int64_t offset = 0;
};

// first, middle ..., ragged, last; or one whole. The ragged microbatch, if there is one, comes before the last.
std::vector<PhaseTurn> iteration_turns(std::int64_t batch, std::int64_t microbatch);

// Evaluation of `count` samples, `samples` at a time and a ragged rest.
std::vector<PhaseTurn> evaluation_turns(std::int64_t count, std::int64_t samples);

}  // namespace thimble
