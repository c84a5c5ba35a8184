// Vectors of f32 for the instruction set this file is compiled for. Include it LAST: everything after it is compiled
// for that set, everything before it for the baseline, so that no inline function of a shared header can carry wide
// instructions into other files. Contraction is off: a fused multiply-add happens exactly where fma() is written.
// A file a set, simd_<set>.h, holds its intrinsics (those of bf16 pairs are in units.h) and defines
//   kIsa, kLanes; Vec, kLanes of f32
//   zero, broadcast, add, sub, mul, div, sqrt; fma(a, b, c), a * b + c
//   load, store              of f32 or bf16, unaligned; rounds to bf16 as to_bfloat16 does; by the instruction that
//                            does it (avx512_bf16) denormal numbers become zero
//   stream, end_streams      store past the caches, AVX-512 alone, to a line's address; before others read it, the end
//   load_first, store_first  the first `count` lanes alone; the others load as zero
//   store_bits, store_first_bits
//                            of a vector that holds loaded elements: rounds nothing, leaves a NaN what it is
//   load_split, unsplit      two vectors of bf16 at the price of one load, dealt out as is cheapest; put in order
//   max, min                 where one is NaN, the second
//   where_at_least           `yes` where a >= b, else `no`, also where one is NaN
//   where_beats              `yes` where a > b or only a is NaN, else `no`
//   where_positive           `a` where gate > 0, else zero
//   positive_bits            bit i: lane i is above zero
//   where_bits, where_byte   lanes whose bit is set, or whose byte is `byte`, else zero
//   store_bytes              a byte a lane, of whole numbers from 0 to 255
//   add_to                   sums[lane] += a[lane], in double: ends a block of additions before their error grows
//   add_squares_to           the same of squares: nothing is lost, nothing overflows
//   transpose                rows become columns: lane j of m[i] changes places with lane i of m[j]
//   nearest                  the nearest integer
//   times_power_of_two       a * 2^power for integers of -252 to 254 with one rounding
//   Words, kLanes of 32 bits: broadcast_word, load_words, exclusive_or; multiply, the halves of a * b;
//   at_least_bits            bit i: word i is at least `bound`, unsigned
//   store_stochastic         as to_bfloat16_stochastic: the low 16 bits of `random` are added before the cut
#pragma once

#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#include <cstdint>

#include "base/bfloat16.h"
#include "base/isa.h"

#if defined(THIMBLE_ISA_AMX_BF16)
#define THIMBLE_ISA_AVX512_BF16
#endif
#if defined(THIMBLE_ISA_AVX512_BF16)
#define THIMBLE_ISA_AVX512
#endif

#if defined(THIMBLE_ISA_NEON)
// Belongs to the baseline.
#elif defined(__clang__) && defined(THIMBLE_ISA_AVX512_BF16)
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

#define THIMBLE_INLINE static inline __attribute__((always_inline))

#if defined(THIMBLE_ISA_NEON)
#include "kernels/cpu/simd_neon.h"
#elif defined(THIMBLE_ISA_AVX512)
#include "kernels/cpu/simd_avx512.h"
#else
#include "kernels/cpu/simd_avx2.h"
#endif

namespace thimble::kernels::THIMBLE_ISA {

// Passes NaN on: a diverging run must not look healthy.
THIMBLE_INLINE Vec relu(Vec a) { return max(zero(), a); }

// Sums made by the multipliers, with a factor of one, which rounds nothing: the bits of add and sub. Where loops have
// more sums than products and the processor units for each, both are busy.
THIMBLE_INLINE Vec multiplier_add(Vec a, Vec b) { return fma(a, broadcast(1), b); }
THIMBLE_INLINE Vec multiplier_sub(Vec a, Vec b) { return fma(b, broadcast(-1), a); }

THIMBLE_INLINE void store_bits(float* p, Vec a) { store(p, a); }
THIMBLE_INLINE void store_first_bits(float* p, Vec a, int count) { store_first(p, a, count); }

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
template <typename T>
THIMBLE_INLINE void store_bits(T* p, Vec a, AllLanes) {
  store_bits(p, a);
}
template <typename T>
THIMBLE_INLINE void store_bits(T* p, Vec a, FirstLanes lanes) {
  store_first_bits(p, a, lanes.count);
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
