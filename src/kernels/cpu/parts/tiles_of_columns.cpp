// Tiles whose rows lie side by side: gradients of weights, transposed left operands.
#include "kernels/cpu/tile_loops.h"

namespace thimble::kernels::THIMBLE_ISA {

template struct Tiles<Unit, true, false>;
#if !defined(THIMBLE_ISA_AVX512_BF16)
template struct Tiles<BFloat16, true, false>;
#endif

}  // namespace thimble::kernels::THIMBLE_ISA
