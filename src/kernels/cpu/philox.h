// Philox 4x32-10 on vectors: the same words as random_bits in base/random.h, for many counters at once, and the
// stochastic rounding that spends them.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

#if defined(THIMBLE_ISA_AVX512)

struct Words {
  __m512i v;
};
THIMBLE_INLINE Words broadcast_word(std::uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }
THIMBLE_INLINE Words load_words(const std::uint32_t* p) { return {_mm512_loadu_si512(p)}; }
THIMBLE_INLINE Words exclusive_or(Words a, Words b, Words c) {
  return {_mm512_ternarylogic_epi32(a.v, b.v, c.v, 0x96)};
}
// low and high half of a * b, for 32-bit lanes
THIMBLE_INLINE void multiply(Words a, Words b, Words& low, Words& high) {
  const __m512i even = _mm512_mul_epu32(a.v, b.v), odd = _mm512_mul_epu32(_mm512_srli_epi64(a.v, 32), b.v);
  constexpr __mmask16 kOdd = 0xAAAA;
  low = {_mm512_mask_mov_epi32(even, kOdd, _mm512_slli_epi64(odd, 32))};
  high = {_mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), kOdd, odd)};
}
// Bit i: word i is at least `bound`, unsigned.
THIMBLE_INLINE unsigned at_least_bits(Words a, std::uint32_t bound) {
  return _mm512_cmpge_epu32_mask(a.v, _mm512_set1_epi32(static_cast<int>(bound)));
}
// As to_bfloat16_stochastic: the low 16 bits of `random` are added before the cut.
THIMBLE_INLINE void store_stochastic(BFloat16* p, Vec a, Words random) {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i moved = _mm512_add_epi32(bits, _mm512_and_si512(random.v, _mm512_set1_epi32(0xffff)));
  const __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  const __m512i words = _mm512_mask_mov_epi32(_mm512_srli_epi32(moved, 16), is_nan, quiet);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(words));
}

#else

struct Words {
  __m256i v;
};
THIMBLE_INLINE Words broadcast_word(std::uint32_t x) { return {_mm256_set1_epi32(static_cast<int>(x))}; }
THIMBLE_INLINE Words load_words(const std::uint32_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
}
THIMBLE_INLINE Words exclusive_or(Words a, Words b, Words c) {
  return {_mm256_xor_si256(_mm256_xor_si256(a.v, b.v), c.v)};
}
// low and high half of a * b, for 32-bit lanes
THIMBLE_INLINE void multiply(Words a, Words b, Words& low, Words& high) {
  const __m256i even = _mm256_mul_epu32(a.v, b.v), odd = _mm256_mul_epu32(_mm256_srli_epi64(a.v, 32), b.v);
  constexpr int kOdd = 0xAA;
  low = {_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), kOdd)};
  high = {_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, kOdd)};
}
// Bit i: word i is at least `bound`, unsigned.
THIMBLE_INLINE unsigned at_least_bits(Words a, std::uint32_t bound) {
  const __m256i b = _mm256_set1_epi32(static_cast<int>(bound));
  const __m256i is_larger = _mm256_cmpeq_epi32(_mm256_max_epu32(a.v, b), a.v);
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(is_larger)));
}
// As to_bfloat16_stochastic: the low 16 bits of `random` are added before the cut.
THIMBLE_INLINE void store_stochastic(BFloat16* p, Vec a, Words random) {
  const __m256i bits = _mm256_castps_si256(a.v);
  const __m256i moved = _mm256_add_epi32(bits, _mm256_and_si256(random.v, _mm256_set1_epi32(0xffff)));
  const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q));
  const __m256i words = _mm256_blendv_epi8(_mm256_srli_epi32(moved, 16), quiet, is_nan);
  const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), packed);
}

#endif

THIMBLE_INLINE void store_stochastic(BFloat16* p, Vec a, Words random, AllLanes) { store_stochastic(p, a, random); }
THIMBLE_INLINE void store_stochastic(BFloat16* p, Vec a, Words random, FirstLanes lanes) {
  BFloat16 part[kLanes];
  store_stochastic(part, a, random);
  for (int i = 0; i < lanes.count; ++i) p[i] = part[i];
}

// random_bits(key, counter(lane), counter_high)[0] in every lane.
template <typename Counter>
THIMBLE_INLINE Words first_words(RandomKey key, std::uint64_t counter_high, Counter&& counter) {
  alignas(64) std::uint32_t low_words[kLanes], high_words[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t value = counter(lane);
    low_words[lane] = static_cast<std::uint32_t>(value);
    high_words[lane] = static_cast<std::uint32_t>(value >> 32);
  }
  Words c0 = load_words(low_words), c1 = load_words(high_words);
  Words c2 = broadcast_word(static_cast<std::uint32_t>(counter_high));
  Words c3 = broadcast_word(static_cast<std::uint32_t>(counter_high >> 32));
  for (std::uint32_t round = 0; round < 10; ++round) {
    Words low0, high0, low1, high1;
    multiply(c0, broadcast_word(0xD2511F53U), low0, high0);
    multiply(c2, broadcast_word(0xCD9E8D57U), low1, high1);
    c0 = exclusive_or(high1, c1, broadcast_word(key.low + round * 0x9E3779B9U));
    c1 = low1;
    c2 = exclusive_or(high0, c3, broadcast_word(key.high + round * 0xBB67AE85U));
    c3 = low0;
  }
  return c0;
}

}  // namespace thimble::kernels::THIMBLE_ISA
