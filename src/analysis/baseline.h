// What a conventional framework would hold for the same training step, by fixed rules: every op writes a new buffer;
// convolution, linear and norm keep their input and activations their output until their backward step; activation
// gradients die at their last use; one gradient a parameter lives to the end; no masks, no workspace, no alignment.
#pragma once

#include "base/bytes.h"
#include "grad/training.h"

namespace thimble {

// `training` is the unfused step of one whole batch.
Bytes baseline_bytes(const Training& training);

}  // namespace thimble
