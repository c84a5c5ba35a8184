// Gradient of a convolution with respect to its weights.
#include "kernels/cpu/conv_weight_gradient.h"
#include "kernels/cpu/conv_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA {

void run_weight_gradient(const WeightPlan& plan, const WeightCall& call) noexcept {
  if constexpr (!kHasPairs) {  // single channels make none
    if (plan.shape.is_depthwise()) return run_depthwise_products(plan, call);
  }
  run_products(plan, call);
}

}  // namespace thimble::kernels::THIMBLE_ISA

namespace thimble::kernels::THIMBLE_ISA::conv2d_grad_weight_kernel {

extern constinit const Kernel def = WeightKernel<WeightOperands{}>::of("conv2d_grad_weight");

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_grad_weight_kernel
