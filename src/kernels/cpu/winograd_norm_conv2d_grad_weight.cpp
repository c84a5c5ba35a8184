// Gradient of the weights by Winograd's tiles, of a convolution whose source is normalised while its tiles are read.
#include "kernels/cpu/winograd_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::winograd_norm_conv2d_grad_weight_kernel {

extern constinit const Kernel def = WinogradWeightKernel<WeightOperands{.normalizes = true}>::of(
    "norm_conv2d_grad_weight", "winograd_norm_conv2d_grad_weight");

}  // namespace thimble::kernels::THIMBLE_ISA::winograd_norm_conv2d_grad_weight_kernel
