// Updates the weights of a convolution, whose source is normalised on the way, by their gradient.
#include "kernels/cpu/conv_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_update_weight_kernel {

extern constinit const Kernel def =
    WeightKernel<WeightOperands{.normalizes = true, .ending = WeightEnding::updates}>::of("norm_conv2d_update_weight");

}  // namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_update_weight_kernel
