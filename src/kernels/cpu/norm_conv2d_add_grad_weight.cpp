// Gradient of the weights of a convolution whose source is normalised on the way, added to a running
// total.
#include "kernels/cpu/conv_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_add_grad_weight_kernel {

extern constinit const Kernel def =
    WeightKernel<WeightOperands{.normalizes = true, .ending = WeightEnding::adds}>::of("norm_conv2d_add_grad_weight");

}  // namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_add_grad_weight_kernel
