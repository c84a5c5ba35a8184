// Updates the weights of a convolution, whose source is normalised while its bands are copied, by their gradient.
#include "kernels/cpu/conv_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_update_weight_kernel {

using Gradient = WeightKernel<WeightOperands{.normalizes = true, .ending = WeightEnding::updates}>;

extern const Kernel def = {.op = "norm_conv2d_update_weight",
                           .name = "norm_conv2d_update_weight",
                           .isa = kIsa,
                           .rank = kUnitRank,
                           .pace = kUnitPace,
                           .refuse = Gradient::refuse,
                           .workspace = Gradient::workspace,
                           .prepare = Gradient::prepare,
                           .run = Gradient::run};

}  // namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_update_weight_kernel
