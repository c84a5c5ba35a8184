// Accumulation over microbatches and parameter updates, as nodes of the graph.
#pragma once

#include <vector>

#include "grad/differentiate.h"

namespace thimble {

struct TrainedParameter {
  ValueId parameter;
  ValueId gradient;
};

// Adds, for each parameter, what its gradient becomes in this phase: an update, a sum over microbatches, or both. The
// form follows from the update rule and the phase, never from a budget.
void add_updates(Training& training, const std::vector<TrainedParameter>& trained, const DifferentiateOptions& options);

}  // namespace thimble
