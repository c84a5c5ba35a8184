// The same as winograd_conv2d_grad_weight, added to a running total.
#include "kernels/cpu/winograd_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::winograd_conv2d_add_grad_weight_kernel {

using Gradient = WinogradWeightKernel<WeightOperands{.ending = WeightEnding::adds}>;

extern const Kernel def = {.op = "conv2d_add_grad_weight",
                           .name = "winograd_conv2d_add_grad_weight",
                           .isa = kIsa,
                           .rank = kWinogradRank,
                           .pace = kGradientPace,
                           .refuse = Gradient::refuse,
                           .workspace = Gradient::workspace,
                           .prepare = Gradient::prepare,
                           .run = Gradient::run};

}  // namespace thimble::kernels::THIMBLE_ISA::winograd_conv2d_add_grad_weight_kernel
