// Gradient of a convolution with respect to its weights, added to a running total: the gradient itself is never stored.
#include "kernels/cpu/conv_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_add_grad_weight_kernel {

using Gradient = WeightKernel<WeightOperands{.ending = WeightEnding::adds}>;

extern const Kernel def = {.op = "conv2d_add_grad_weight",
                           .name = "conv2d_add_grad_weight",
                           .isa = kIsa,
                           .rank = kUnitRank,
                           .pace = kUnitPace,
                           .refuse = Gradient::refuse,
                           .workspace = Gradient::workspace,
                           .prepare = Gradient::prepare,
                           .run = Gradient::run};

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_add_grad_weight_kernel
