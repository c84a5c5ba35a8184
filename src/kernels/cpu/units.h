// What bands and packed weights are made of: f32 numbers, or, where the processor multiplies bf16 two by two, pairs of
// bf16. Either is 32 bits, a tile broadcasts one and multiplies it with a vector of others, and all strides of tiles
// count them: the loops above a tile are the same for both.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

#if defined(THIMBLE_ISA_AVX512_BF16)

// Two numbers that are neighbours in the reduction; the second is zero where there is none.
struct Pair {
  BFloat16 first, second;
};
using Unit = Pair;
using UnitElement = BFloat16;

constexpr DType kUnitDType = DType::bf16;

THIMBLE_INLINE Vec load(const Pair* p) { return {_mm512_loadu_ps(p)}; }
THIMBLE_INLINE Vec load_first(const Pair* p, int count) {
  return {_mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1U), p)};
}
THIMBLE_INLINE void store(Pair* p, Vec a) { _mm512_storeu_ps(p, a.v); }
THIMBLE_INLINE void store_first(Pair* p, Vec a, int count) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << count) - 1U), a.v);
}
THIMBLE_INLINE Vec broadcast(Pair x) { return {_mm512_castsi512_ps(_mm512_set1_epi32(std::bit_cast<int>(x)))}; }
// sum + a.first b.first + a.second b.second. The instruction takes denormal numbers for zero and rounds twice to the
// nearest, whatever the control register says.
THIMBLE_INLINE Vec multiply_add(Vec a, Vec b, Vec sum) {
  return {_mm512_dpbf16_ps(sum.v, (__m512bh)a.v, (__m512bh)b.v)};
}

// Pairs of neighbouring lanes of a vector of f32, then those of another.
THIMBLE_INLINE Vec join_neighbours(Vec first, Vec second) {
  return {_mm512_castsi512_ps((__m512i)_mm512_cvtne2ps_pbh(second.v, first.v))};
}
// Pairs of what the lanes of two vectors of f32 hold.
THIMBLE_INLINE Vec join(Vec first, Vec second) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return {_mm512_castsi512_ps(_mm512_permutexvar_epi16(order, (__m512i)_mm512_cvtne2ps_pbh(second.v, first.v)))};
}
// The same of vectors that were widened from bf16.
THIMBLE_INLINE Vec join_widened(Vec first, Vec second) {
  const __m512i low = _mm512_srli_epi32(_mm512_castps_si512(first.v), 16);
  return {_mm512_castsi512_ps(_mm512_or_si512(low, _mm512_castps_si512(second.v)))};
}
// The same of all elements of two rows: what lies side by side in a vector becomes one vector of pairs after the other.
THIMBLE_INLINE void interleave(Vec& first, Vec& second) {
  const __m512i low = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37,
                                       5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  const __m512i a = _mm512_castps_si512(first.v), b = _mm512_castps_si512(second.v);
  first = {_mm512_castsi512_ps(_mm512_permutex2var_epi16(a, low, b))};
  second = {_mm512_castsi512_ps(_mm512_permutex2var_epi16(a, high, b))};
}
// Units that lie side by side in memory as `count` elements.
THIMBLE_INLINE Vec load_units(const BFloat16* p, std::int64_t count) {
  const auto mask = static_cast<__mmask32>((std::uint64_t{1} << smaller(count, 32)) - 1);
  return {_mm512_castsi512_ps(_mm512_maskz_loadu_epi16(mask, p))};
}
THIMBLE_INLINE Vec load_units(const float* p, std::int64_t count) {
  const Vec first = load_first(p, static_cast<int>(smaller(count, 16)));
  const Vec second = count > 16 ? load_first(p + 16, static_cast<int>(smaller(count - 16, 16))) : zero();
  return {_mm512_castsi512_ps((__m512i)_mm512_cvtne2ps_pbh(second.v, first.v))};
}

#else

using Unit = float;
using UnitElement = float;
constexpr DType kUnitDType = DType::f32;

THIMBLE_INLINE Vec join(Vec first, Vec) { return first; }
THIMBLE_INLINE Vec join_neighbours(Vec first, Vec) { return first; }
THIMBLE_INLINE Vec join_widened(Vec first, Vec) { return first; }
THIMBLE_INLINE void interleave(Vec&, Vec&) {}
template <typename T>
THIMBLE_INLINE Vec load_units(const T* p, std::int64_t count) {
  return load_first(p, static_cast<int>(smaller(count, kLanes)));
}

THIMBLE_INLINE Vec multiply_add(Vec a, Vec b, Vec sum) { return fma(a, b, sum); }

#endif

constexpr bool kHasPairs = !std::is_same_v<Unit, float>;
constexpr bool kHasMatrices = kIsa == Isa::amx_bf16;
// Of products of units; measured, but for matrix registers, which take 16 times as many at once.
constexpr double kUnitPace = kHasMatrices ? 6 : kHasPairs ? 1.9 : 1;
// Instructions rank as they were added; matrix registers before Winograd's pairs too, which save a factor of two.
constexpr int kUnitRank = kHasMatrices ? 2 * static_cast<int>(kIsa) : static_cast<int>(kIsa);
constexpr std::int64_t kUnitElements = sizeof(Unit) / sizeof(UnitElement);
constexpr std::int64_t units_of(std::int64_t elements) { return (elements + kUnitElements - 1) / kUnitElements; }

}  // namespace thimble::kernels::THIMBLE_ISA
