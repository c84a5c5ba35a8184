// Vectors of f32 for the instruction set this file is compiled for. Include it LAST: everything after it is compiled
// for that set, everything before it for the baseline, so that no inline function of a shared header can carry wide
// instructions into other files. Contraction is off: a fused multiply-add happens exactly where fma() is written.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "base/bfloat16.h"

#if defined(THIMBLE_ISA_AVX512_BF16)
#define THIMBLE_ISA_AVX512
#endif

#if defined(__clang__) && defined(THIMBLE_ISA_AVX512_BF16)
#pragma clang attribute push(__attribute__((target("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), \
                             apply_to = function)
#elif defined(__clang__) && defined(THIMBLE_ISA_AVX512)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), \
                             apply_to = function)
#elif defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#elif defined(THIMBLE_ISA_AVX512_BF16)
#pragma GCC target("avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#elif defined(THIMBLE_ISA_AVX512)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#else
#pragma GCC target("avx2,fma")
#endif

namespace thimble::kernels::THIMBLE_ISA {

#define THIMBLE_INLINE static inline __attribute__((always_inline))

#if defined(THIMBLE_ISA_AVX512)

#if defined(THIMBLE_ISA_AVX512_BF16)
constexpr Isa kIsa = Isa::avx512_bf16;
#else
constexpr Isa kIsa = Isa::avx512;
#endif
constexpr int kLanes = 16;
struct Vec {
  __m512 v;
};

THIMBLE_INLINE Vec zero() { return {_mm512_setzero_ps()}; }
THIMBLE_INLINE Vec broadcast(float x) { return {_mm512_set1_ps(x)}; }
THIMBLE_INLINE Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
THIMBLE_INLINE void store(float* p, Vec a) { _mm512_storeu_ps(p, a.v); }
THIMBLE_INLINE Vec load_first(const float* p, int count) {
  return {_mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1U), p)};
}
THIMBLE_INLINE void store_first(float* p, Vec a, int count) {
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1U << count) - 1U), a.v);
}
THIMBLE_INLINE Vec load(const BFloat16* p) {
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
}
THIMBLE_INLINE Vec load_first(const BFloat16* p, int count) {
  const __m256i half = _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1U << count) - 1U), p);
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16))};
}
#if defined(THIMBLE_ISA_AVX512_BF16)
// The same as below, but for denormal numbers, which become zero: the products would take them for zero anyway.
THIMBLE_INLINE __m256i to_bfloat16_bits(Vec a) { return (__m256i)_mm512_cvtneps_pbh(a.v); }
#else
// Round to nearest even, NaN stays NaN: the same bits as to_bfloat16.
THIMBLE_INLINE __m256i to_bfloat16_bits(Vec a) {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded =
      _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
  const __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(rounded, is_nan, quiet));
}
#endif
THIMBLE_INLINE void store(BFloat16* p, Vec a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), to_bfloat16_bits(a));
}
THIMBLE_INLINE void store_first(BFloat16* p, Vec a, int count) {
  _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1U << count) - 1U), to_bfloat16_bits(a));
}
THIMBLE_INLINE Vec add(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec sub(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec mul(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec div(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec sqrt(Vec a) { return {_mm512_sqrt_ps(a.v)}; }
THIMBLE_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }  // a * b + c
// max(x, 0) that passes NaN on: a diverging run must not look healthy.
THIMBLE_INLINE Vec relu(Vec a) {
  return {_mm512_mask_mov_ps(a.v, _mm512_cmp_ps_mask(a.v, _mm512_setzero_ps(), _CMP_LE_OQ), _mm512_setzero_ps())};
}
// Where one is NaN, the second.
THIMBLE_INLINE Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
// `yes` where a >= b, else `no`, also where one is NaN.
THIMBLE_INLINE Vec where_at_least(Vec a, Vec b, Vec yes, Vec no) {
  return {_mm512_mask_mov_ps(no.v, _mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ), yes.v)};
}
// `a` where gate > 0, else zero.
THIMBLE_INLINE Vec where_positive(Vec gate, Vec a) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(gate.v, _mm512_setzero_ps(), _CMP_GT_OQ), a.v)};
}
// Bit i: lane i is above zero; and the other way, lanes whose bit is set, else zero.
THIMBLE_INLINE unsigned positive_bits(Vec a) { return _mm512_cmp_ps_mask(a.v, _mm512_setzero_ps(), _CMP_GT_OQ); }
THIMBLE_INLINE Vec where_bits(unsigned bits, Vec a) { return {_mm512_maskz_mov_ps(static_cast<__mmask16>(bits), a.v)}; }
// sums[lane] += a[lane], in double: ends a block of f32 additions before their error grows.
THIMBLE_INLINE void add_to(double* sums, Vec a) {
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a.v)),
                high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1));
  _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_loadu_pd(sums), low));
  _mm512_storeu_pd(sums + 8, _mm512_add_pd(_mm512_loadu_pd(sums + 8), high));
}
// sums[lane] += a[lane]^2, the square in double too: nothing is lost, nothing overflows.
THIMBLE_INLINE void add_squares_to(double* sums, Vec a) {
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a.v)),
                high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1));
  _mm512_storeu_pd(sums, _mm512_fmadd_pd(low, low, _mm512_loadu_pd(sums)));
  _mm512_storeu_pd(sums + 8, _mm512_fmadd_pd(high, high, _mm512_loadu_pd(sums + 8)));
}

// Two vectors of bf16 at the price of one load: the even elements widened, then the odd ones. interleave puts such a
// pair in order.
THIMBLE_INLINE void load_even_odd(Vec& even, Vec& odd, const BFloat16* p, int count) {
  const auto mask = static_cast<__mmask32>((std::uint64_t{1} << count) - 1);
  const __m512i both = _mm512_maskz_loadu_epi16(mask, p);
  even.v = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
  odd.v = _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
}
THIMBLE_INLINE void interleave(Vec& even, Vec& odd) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  const __m512 first = _mm512_permutex2var_ps(even.v, low, odd.v);
  odd.v = _mm512_permutex2var_ps(even.v, high, odd.v);
  even.v = first;
}
// Rows become columns: lane j of m[i] changes places with lane i of m[j].
THIMBLE_INLINE void transpose(Vec (&m)[kLanes]) {
  __m512 pairs[16], quads[16], halves[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    pairs[2 * i] = _mm512_unpacklo_ps(m[2 * i].v, m[2 * i + 1].v);
    pairs[2 * i + 1] = _mm512_unpackhi_ps(m[2 * i].v, m[2 * i + 1].v);
  }
  // quads[4 g + k]: rows 4 g .. 4 g + 3 of columns k, k + 4, k + 8, k + 12
#pragma GCC unroll 4
  for (int g = 0; g < 4; ++g) {
    const __m512d low = _mm512_castps_pd(pairs[4 * g]), low2 = _mm512_castps_pd(pairs[4 * g + 2]);
    const __m512d high = _mm512_castps_pd(pairs[4 * g + 1]), high2 = _mm512_castps_pd(pairs[4 * g + 3]);
    quads[4 * g] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, low2));
    quads[4 * g + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, low2));
    quads[4 * g + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high, high2));
    quads[4 * g + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high, high2));
  }
  // halves[k]: columns k and k + 8, halves[4 + k]: k + 4 and k + 12, of rows 0 .. 7; the same of rows 8 .. 15 from
  // halves[8] on
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    halves[k] = _mm512_shuffle_f32x4(quads[k], quads[4 + k], 0x88);
    halves[4 + k] = _mm512_shuffle_f32x4(quads[k], quads[4 + k], 0xdd);
    halves[8 + k] = _mm512_shuffle_f32x4(quads[8 + k], quads[12 + k], 0x88);
    halves[12 + k] = _mm512_shuffle_f32x4(quads[8 + k], quads[12 + k], 0xdd);
  }
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k) {
    m[k].v = _mm512_shuffle_f32x4(halves[k], halves[8 + k], 0x88);
    m[8 + k].v = _mm512_shuffle_f32x4(halves[k], halves[8 + k], 0xdd);
  }
}

#else

constexpr Isa kIsa = Isa::avx2;
constexpr int kLanes = 8;
struct Vec {
  __m256 v;
};

THIMBLE_INLINE __m256i first_mask(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
THIMBLE_INLINE Vec zero() { return {_mm256_setzero_ps()}; }
THIMBLE_INLINE Vec broadcast(float x) { return {_mm256_set1_ps(x)}; }
THIMBLE_INLINE Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
THIMBLE_INLINE void store(float* p, Vec a) { _mm256_storeu_ps(p, a.v); }
THIMBLE_INLINE Vec load_first(const float* p, int count) { return {_mm256_maskload_ps(p, first_mask(count))}; }
THIMBLE_INLINE void store_first(float* p, Vec a, int count) { _mm256_maskstore_ps(p, first_mask(count), a.v); }
THIMBLE_INLINE Vec load(const BFloat16* p) {
  const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16))};
}
THIMBLE_INLINE Vec load_first(const BFloat16* p, int count) {
  alignas(16) BFloat16 part[8] = {};
  for (int i = 0; i < count; ++i) part[i] = p[i];
  return load(part);
}
// Round to nearest even, NaN stays NaN: the same bits as to_bfloat16.
THIMBLE_INLINE __m128i to_bfloat16_bits(Vec a) {
  const __m256i bits = _mm256_castps_si256(a.v);
  const __m256i high = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q));
  const __m256i words = _mm256_blendv_epi8(rounded, quiet, is_nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}
THIMBLE_INLINE void store(BFloat16* p, Vec a) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), to_bfloat16_bits(a)); }
THIMBLE_INLINE void store_first(BFloat16* p, Vec a, int count) {
  alignas(16) BFloat16 part[8];
  store(part, a);
  for (int i = 0; i < count; ++i) p[i] = part[i];
}
THIMBLE_INLINE Vec add(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec sub(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec mul(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec div(Vec a, Vec b) { return {_mm256_div_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec sqrt(Vec a) { return {_mm256_sqrt_ps(a.v)}; }
THIMBLE_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }  // a * b + c
// max(x, 0) that passes NaN on: a diverging run must not look healthy.
THIMBLE_INLINE Vec relu(Vec a) { return {_mm256_andnot_ps(_mm256_cmp_ps(a.v, _mm256_setzero_ps(), _CMP_LE_OQ), a.v)}; }
// Where one is NaN, the second.
THIMBLE_INLINE Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
// `yes` where a >= b, else `no`, also where one is NaN.
THIMBLE_INLINE Vec where_at_least(Vec a, Vec b, Vec yes, Vec no) {
  return {_mm256_blendv_ps(no.v, yes.v, _mm256_cmp_ps(a.v, b.v, _CMP_GE_OQ))};
}
// `a` where gate > 0, else zero.
THIMBLE_INLINE Vec where_positive(Vec gate, Vec a) {
  return {_mm256_and_ps(_mm256_cmp_ps(gate.v, _mm256_setzero_ps(), _CMP_GT_OQ), a.v)};
}
// Bit i: lane i is above zero; and the other way, lanes whose bit is set, else zero.
THIMBLE_INLINE unsigned positive_bits(Vec a) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a.v, _mm256_setzero_ps(), _CMP_GT_OQ)));
}
THIMBLE_INLINE Vec where_bits(unsigned bits, Vec a) {
  const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i chosen = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), lane);
  return {_mm256_and_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(chosen, lane)), a.v)};
}
// sums[lane] += a[lane], in double: ends a block of f32 additions before their error grows.
THIMBLE_INLINE void add_to(double* sums, Vec a) {
  const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(a.v)),
                high = _mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1));
  _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), low));
  _mm256_storeu_pd(sums + 4, _mm256_add_pd(_mm256_loadu_pd(sums + 4), high));
}
// sums[lane] += a[lane]^2, the square in double too: nothing is lost, nothing overflows.
THIMBLE_INLINE void add_squares_to(double* sums, Vec a) {
  const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(a.v)),
                high = _mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1));
  _mm256_storeu_pd(sums, _mm256_fmadd_pd(low, low, _mm256_loadu_pd(sums)));
  _mm256_storeu_pd(sums + 4, _mm256_fmadd_pd(high, high, _mm256_loadu_pd(sums + 4)));
}

// Two vectors of bf16 at the price of one load: the even elements widened, then the odd ones. interleave puts such a
// pair in order.
THIMBLE_INLINE void load_even_odd(Vec& even, Vec& odd, const BFloat16* p, int count) {
  alignas(32) BFloat16 part[2 * kLanes] = {};
  if (count < 2 * kLanes) {
    for (int i = 0; i < count; ++i) part[i] = p[i];
    p = part;
  }
  const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  even.v = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
  odd.v = _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(static_cast<int>(0xffff0000U))));
}
THIMBLE_INLINE void interleave(Vec& even, Vec& odd) {
  const __m256 low = _mm256_unpacklo_ps(even.v, odd.v), high = _mm256_unpackhi_ps(even.v, odd.v);
  even.v = _mm256_permute2f128_ps(low, high, 0x20);
  odd.v = _mm256_permute2f128_ps(low, high, 0x31);
}
// Rows become columns: lane j of m[i] changes places with lane i of m[j].
THIMBLE_INLINE void transpose(Vec (&m)[kLanes]) {
  __m256 pairs[8], quads[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    pairs[2 * i] = _mm256_unpacklo_ps(m[2 * i].v, m[2 * i + 1].v);
    pairs[2 * i + 1] = _mm256_unpackhi_ps(m[2 * i].v, m[2 * i + 1].v);
  }
  // quads[4 g + k]: rows 4 g .. 4 g + 3 of columns k and k + 4
#pragma GCC unroll 2
  for (int g = 0; g < 2; ++g) {
    quads[4 * g] = _mm256_shuffle_ps(pairs[4 * g], pairs[4 * g + 2], 0x44);
    quads[4 * g + 1] = _mm256_shuffle_ps(pairs[4 * g], pairs[4 * g + 2], 0xee);
    quads[4 * g + 2] = _mm256_shuffle_ps(pairs[4 * g + 1], pairs[4 * g + 3], 0x44);
    quads[4 * g + 3] = _mm256_shuffle_ps(pairs[4 * g + 1], pairs[4 * g + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    m[k].v = _mm256_permute2f128_ps(quads[k], quads[4 + k], 0x20);
    m[4 + k].v = _mm256_permute2f128_ps(quads[k], quads[4 + k], 0x31);
  }
}

#endif

// How many lanes of a vector a piece of code touches, as a type: one body serves whole vectors and the shorter last
// one.
struct AllLanes {
  static constexpr int count = kLanes;
};
struct FirstLanes {
  int count = 0;
};

template <typename T>
THIMBLE_INLINE Vec load(const T* p, AllLanes) {
  return load(p);
}
template <typename T>
THIMBLE_INLINE Vec load(const T* p, FirstLanes lanes) {
  return load_first(p, lanes.count);
}
template <typename T>
THIMBLE_INLINE void store(T* p, Vec a, AllLanes) {
  store(p, a);
}
template <typename T>
THIMBLE_INLINE void store(T* p, Vec a, FirstLanes lanes) {
  store_first(p, a, lanes.count);
}
THIMBLE_INLINE void add_to(double* sums, Vec a, AllLanes) { add_to(sums, a); }
THIMBLE_INLINE void add_to(double* sums, Vec a, FirstLanes lanes) {
  alignas(64) float part[kLanes];
  store(part, a);
  for (int i = 0; i < lanes.count; ++i) sums[i] += static_cast<double>(part[i]);
}

// Calls body(index, lanes) over [begin, end): whole vectors, then one shorter piece. Pieces depend on the indices
// alone.
template <typename Whole, typename Rest>
THIMBLE_INLINE void for_vectors(std::int64_t begin, std::int64_t end, Whole&& whole, Rest&& rest) {
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) whole(i);
  if (i < end) rest(i, static_cast<int>(end - i));
}
// The same with one body(index, lanes).
template <typename Body>
THIMBLE_INLINE void each_vector(std::int64_t begin, std::int64_t end, Body&& body) {
  std::int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) body(i, AllLanes{});
  if (i < end) body(i, FirstLanes{static_cast<int>(end - i)});
}

}  // namespace thimble::kernels::THIMBLE_ISA
