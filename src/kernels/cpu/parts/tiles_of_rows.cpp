// Tiles whose reduction lies side by side in rows: convolutions, matrix products.
#include "kernels/cpu/tile_loops.h"

namespace thimble::kernels::THIMBLE_ISA {

template struct Tiles<Unit, false, false>;
#if !defined(THIMBLE_ISA_AVX512_BF16)
template struct Tiles<Unit, false, true>;
template struct Tiles<BFloat16, false, false>;
template struct Tiles<BFloat16, false, true>;
#endif

}  // namespace thimble::kernels::THIMBLE_ISA
