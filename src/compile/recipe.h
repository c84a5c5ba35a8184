// The passes in order, each with its reason.
#pragma once

#include <span>

#include "passes/pass.h"

namespace thimble {

std::span<const Pass> forward_recipe();   // on the model, before gradients exist
std::span<const Pass> training_recipe();  // on the whole training step

}  // namespace thimble
