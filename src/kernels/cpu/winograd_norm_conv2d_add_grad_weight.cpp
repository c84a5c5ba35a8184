// The same as winograd_norm_conv2d_grad_weight, added to a running total.
#include "kernels/cpu/winograd_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::winograd_norm_conv2d_add_grad_weight_kernel {

extern constinit const Kernel def =
    WinogradWeightKernel<WeightOperands{.normalizes = true, .ending = WeightEnding::adds}>::of(
        "norm_conv2d_add_grad_weight", "winograd_norm_conv2d_add_grad_weight");

}  // namespace thimble::kernels::THIMBLE_ISA::winograd_norm_conv2d_add_grad_weight_kernel
