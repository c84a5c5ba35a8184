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
// form follows from the update rule and the phase, never from a budget. With clipping, every update reads its gradient
// and a scale that depends on all of them; whether a gradient waits for that in memory or is made a second time is for
// the schedule to say.
void add_updates(Training& training, const std::vector<TrainedParameter>& trained, const DifferentiateOptions& options);

}  // namespace thimble
