// exp on vectors, within 1 unit in the last place, and what is made of it.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

// exp(x) = 2^n exp(r) with n the nearest integer to x / ln 2, so |r| <= ln 2 / 2, where the Taylor polynomial of degree
// 7 errs by 5e-9. Overflows to infinity, fades to zero through the subnormal numbers, passes NaN.
THIMBLE_INLINE Vec exp(Vec x) {
  constexpr float kLog2E = 0x1.715476p0F;
  constexpr float kLn2High = 0x1.62e4p-1F, kLn2Low = 0x1.7f7d1cp-20F;  // n kLn2High is exact
  constexpr float kLeast = -104, kMost = 89;                           // zero and infinity from there on
  const Vec bounded = min(broadcast(kMost), max(broadcast(kLeast), x));
  const Vec n = nearest(mul(bounded, broadcast(kLog2E)));
  const Vec r = fma(n, broadcast(-kLn2Low), fma(n, broadcast(-kLn2High), bounded));
  Vec sum = broadcast(1.0F / 5040);
  for (const float coefficient : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 1.0F / 2, 1.0F, 1.0F}) {
    sum = fma(sum, r, broadcast(coefficient));
  }
  return times_power_of_two(sum, n);
}

THIMBLE_INLINE Vec sigmoid(Vec x) { return div(broadcast(1), add(broadcast(1), exp(sub(zero(), x)))); }

}  // namespace thimble::kernels::THIMBLE_ISA
