// Gradient of a convolution with respect to its weights, added to a running total: the gradient itself is never stored.
#include "kernels/cpu/conv_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_add_grad_weight_kernel {

extern constinit const Kernel def =
    WeightKernel<WeightOperands{.ending = WeightEnding::adds}>::of("conv2d_add_grad_weight");

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_add_grad_weight_kernel
