// The vectors of simd.h on AVX2 with FMA.
#pragma once

namespace thimble::kernels::THIMBLE_ISA {

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
THIMBLE_INLINE void end_streams() {}
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
THIMBLE_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
THIMBLE_INLINE Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec where_at_least(Vec a, Vec b, Vec yes, Vec no) {
  return {_mm256_blendv_ps(no.v, yes.v, _mm256_cmp_ps(a.v, b.v, _CMP_GE_OQ))};
}
THIMBLE_INLINE Vec where_positive(Vec gate, Vec a) {
  return {_mm256_and_ps(_mm256_cmp_ps(gate.v, _mm256_setzero_ps(), _CMP_GT_OQ), a.v)};
}
THIMBLE_INLINE unsigned positive_bits(Vec a) {
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a.v, _mm256_setzero_ps(), _CMP_GT_OQ)));
}
THIMBLE_INLINE Vec where_bits(unsigned bits, Vec a) {
  const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i chosen = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), lane);
  return {_mm256_and_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(chosen, lane)), a.v)};
}
THIMBLE_INLINE void add_to(double* sums, Vec a) {
  const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(a.v)),
                high = _mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1));
  _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), low));
  _mm256_storeu_pd(sums + 4, _mm256_add_pd(_mm256_loadu_pd(sums + 4), high));
}
THIMBLE_INLINE void add_squares_to(double* sums, Vec a) {
  const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(a.v)),
                high = _mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1));
  _mm256_storeu_pd(sums, _mm256_fmadd_pd(low, low, _mm256_loadu_pd(sums)));
  _mm256_storeu_pd(sums + 4, _mm256_fmadd_pd(high, high, _mm256_loadu_pd(sums + 4)));
}

THIMBLE_INLINE void load_split(Vec& even, Vec& odd, const BFloat16* p, int count) {
  alignas(32) BFloat16 part[2 * kLanes] = {};
  if (count < 2 * kLanes) {
    for (int i = 0; i < count; ++i) part[i] = p[i];
    p = part;
  }
  const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  even.v = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
  odd.v = _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(static_cast<int>(0xffff0000U))));
}
THIMBLE_INLINE void unsplit(Vec& even, Vec& odd) {
  const __m256 low = _mm256_unpacklo_ps(even.v, odd.v), high = _mm256_unpackhi_ps(even.v, odd.v);
  even.v = _mm256_permute2f128_ps(low, high, 0x20);
  odd.v = _mm256_permute2f128_ps(low, high, 0x31);
}
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

THIMBLE_INLINE void store_bits(BFloat16* p, Vec a) {
  const __m256i words = _mm256_srli_epi32(_mm256_castps_si256(a.v), 16);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
THIMBLE_INLINE void store_first_bits(BFloat16* p, Vec a, int count) {
  alignas(16) BFloat16 part[kLanes];
  store_bits(part, a);
  for (int i = 0; i < count; ++i) p[i] = part[i];
}

THIMBLE_INLINE Vec where_beats(Vec a, Vec b, Vec yes, Vec no) {
  const __m256 beats = _mm256_cmp_ps(a.v, b.v, _CMP_NLE_UQ);
  return {_mm256_blendv_ps(no.v, yes.v, _mm256_and_ps(beats, _mm256_cmp_ps(b.v, b.v, _CMP_ORD_Q)))};
}
THIMBLE_INLINE Vec where_byte(const std::uint8_t* bytes, int byte, Vec a) {
  const __m256i found = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
  return {_mm256_and_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(found, _mm256_set1_epi32(byte))), a.v)};
}
THIMBLE_INLINE void store_bytes(std::uint8_t* p, Vec a) {
  const __m256i words = _mm256_cvttps_epi32(a.v);
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(halves, halves));
}

THIMBLE_INLINE Vec nearest(Vec a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
THIMBLE_INLINE __m256 power_of_two(__m256i power) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(power, _mm256_set1_epi32(127)), 23));
}
// In two factors: the power itself may lie beyond the largest or below the smallest normal number.
THIMBLE_INLINE Vec times_power_of_two(Vec a, Vec power) {
  const __m256i whole = _mm256_cvtps_epi32(power.v), half = _mm256_srai_epi32(whole, 1);
  return {_mm256_mul_ps(_mm256_mul_ps(a.v, power_of_two(half)), power_of_two(_mm256_sub_epi32(whole, half)))};
}

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
THIMBLE_INLINE void multiply(Words a, Words b, Words& low, Words& high) {
  const __m256i even = _mm256_mul_epu32(a.v, b.v), odd = _mm256_mul_epu32(_mm256_srli_epi64(a.v, 32), b.v);
  constexpr int kOdd = 0xAA;
  low = {_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), kOdd)};
  high = {_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, kOdd)};
}
THIMBLE_INLINE unsigned at_least_bits(Words a, std::uint32_t bound) {
  const __m256i b = _mm256_set1_epi32(static_cast<int>(bound));
  const __m256i is_larger = _mm256_cmpeq_epi32(_mm256_max_epu32(a.v, b), a.v);
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(is_larger)));
}
THIMBLE_INLINE void store_stochastic(BFloat16* p, Vec a, Words random) {
  const __m256i bits = _mm256_castps_si256(a.v);
  const __m256i moved = _mm256_add_epi32(bits, _mm256_and_si256(random.v, _mm256_set1_epi32(0xffff)));
  const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(a.v, a.v, _CMP_UNORD_Q));
  const __m256i words = _mm256_blendv_epi8(_mm256_srli_epi32(moved, 16), quiet, is_nan);
  const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), packed);
}

}  // namespace thimble::kernels::THIMBLE_ISA
