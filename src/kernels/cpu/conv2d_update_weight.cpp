// Updates the weights of a convolution by their gradient, which is never stored.
#include "kernels/cpu/conv_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_update_weight_kernel {

extern constinit const Kernel def =
    WeightKernel<WeightOperands{.ending = WeightEnding::updates}>::of("conv2d_update_weight");

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_update_weight_kernel
