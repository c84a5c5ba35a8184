// exp on vectors, within 1 unit in the last place, and what is made of it.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

// The nearest integer, and a * 2^power for integers of -252 to 254 with one rounding.
#if defined(THIMBLE_ISA_AVX512)
THIMBLE_INLINE Vec nearest(Vec a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
THIMBLE_INLINE Vec times_power_of_two(Vec a, Vec power) { return {_mm512_scalef_ps(a.v, power.v)}; }
#else
THIMBLE_INLINE Vec nearest(Vec a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
THIMBLE_INLINE __m256 power_of_two(__m256i power) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(power, _mm256_set1_epi32(127)), 23));
}
// In two factors: the power itself may lie beyond the largest or below the smallest normal number.
THIMBLE_INLINE Vec times_power_of_two(Vec a, Vec power) {
  const __m256i whole = _mm256_cvtps_epi32(power.v), half = _mm256_srai_epi32(whole, 1);
  return {_mm256_mul_ps(_mm256_mul_ps(a.v, power_of_two(half)), power_of_two(_mm256_sub_epi32(whole, half)))};
}
#endif

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
