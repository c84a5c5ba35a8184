// Gradient of the weights of a convolution whose source is normalised while its bands are copied.
#include "kernels/cpu/conv_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_grad_weight_kernel {

using Gradient = WeightKernel<WeightOperands{.normalizes = true}>;

extern const Kernel def = {.op = "norm_conv2d_grad_weight",
                           .name = "norm_conv2d_grad_weight",
                           .isa = kIsa,
                           .rank = kUnitRank,
                           .pace = kUnitPace,
                           .refuse = Gradient::refuse,
                           .workspace = Gradient::workspace,
                           .prepare = Gradient::prepare,
                           .run = Gradient::run};

}  // namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_grad_weight_kernel
