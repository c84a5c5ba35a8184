// Graph -> Training: adds backward nodes for just the parameters asked for, then accumulation and updates as the phase
// demands.
#pragma once

#include "grad/optimizer.h"
#include "grad/training.h"

namespace thimble {

struct DifferentiateOptions {
  OptimizerSpec optimizer;
  DType state_dtype =
      DType::f32;  // of optimizer state and accumulators of parameters stored as bf16: bf16 when there is no f32 master
  bool has_accumulators = false;  // other phases have them: gradients that wait for their norm then wait there, also in
                                  // a phase that does a whole iteration
};

// `forward` holds kLoss; every parameter in it is trained.
Training differentiate(const Graph& forward, const Phase& phase, const DifferentiateOptions& options);

// An evaluation phase: the forward graph as it is, with loss and hits read by the host.
Training evaluation(const Graph& forward, const Phase& phase);

}  // namespace thimble
