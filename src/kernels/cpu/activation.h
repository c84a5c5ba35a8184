// The saturating rectifier and its gradient's mask, on vectors.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

THIMBLE_INLINE Vec relu6(Vec x) { return min(broadcast(6), relu(x)); }  // NaN passes

// `a` where 0 < gate < 6, else zero. The difference of two floats is zero only where they are equal.
THIMBLE_INLINE Vec where_inside_relu6(Vec gate, Vec a) {
  return where_positive(gate, where_positive(sub(broadcast(6), gate), a));
}

}  // namespace thimble::kernels::THIMBLE_ISA
