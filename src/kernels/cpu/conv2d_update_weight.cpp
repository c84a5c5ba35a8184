// Updates the weights of a convolution by their gradient, which is never stored.
#include "kernels/cpu/conv_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_update_weight_kernel {

using Gradient = WeightKernel<WeightOperands{.ending = WeightEnding::updates}>;

extern const Kernel def = {.op = "conv2d_update_weight",
                           .name = "conv2d_update_weight",
                           .isa = kIsa,
                           .rank = kUnitRank,
                           .pace = kUnitPace,
                           .refuse = Gradient::refuse,
                           .workspace = Gradient::workspace,
                           .prepare = Gradient::prepare,
                           .run = Gradient::run};

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_update_weight_kernel
