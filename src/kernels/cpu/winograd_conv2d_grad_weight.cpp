// Gradient of a convolution with respect to its weights by Winograd's tiles.
#include "kernels/cpu/winograd_weight_gradient.h"
#include "kernels/cpu/winograd_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA {

void run_winograd_weights(const WinogradWeightPlan& plan, const WeightCall& call) noexcept {
  run_winograd_products(plan, call);
}

}  // namespace thimble::kernels::THIMBLE_ISA

namespace thimble::kernels::THIMBLE_ISA::winograd_conv2d_grad_weight_kernel {

using Gradient = WinogradWeightKernel<WeightOperands{}>;

extern const Kernel def = {.op = "conv2d_grad_weight",
                           .name = "winograd_conv2d_grad_weight",
                           .isa = kIsa,
                           .rank = kWinogradRank,
                           .pace = kGradientPace,
                           .refuse = Gradient::refuse,
                           .workspace = Gradient::workspace,
                           .prepare = Gradient::prepare,
                           .run = Gradient::run};

}  // namespace thimble::kernels::THIMBLE_ISA::winograd_conv2d_grad_weight_kernel
