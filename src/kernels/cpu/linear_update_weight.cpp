// Updates the weights of a fully connected layer by their gradient, which is never stored.
#include "kernels/cpu/conv_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::linear_update_weight_kernel {

extern constinit const Kernel def =
    WeightKernel<WeightOperands{.ending = WeightEnding::updates, .is_matrix = true}>::of("linear_update_weight");

}  // namespace thimble::kernels::THIMBLE_ISA::linear_update_weight_kernel
