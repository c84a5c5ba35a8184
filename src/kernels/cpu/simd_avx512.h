// The vectors of simd.h on AVX-512: masks choose lanes.
#pragma once

namespace thimble::kernels::THIMBLE_ISA {

#if defined(THIMBLE_ISA_AMX_BF16)
constexpr Isa kIsa = Isa::amx_bf16;
#elif defined(THIMBLE_ISA_AVX512_BF16)
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
THIMBLE_INLINE void stream(float* p, Vec a) { _mm512_stream_ps(p, a.v); }
THIMBLE_INLINE void end_streams() { _mm_sfence(); }
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
// Denormal numbers become zero, as products of pairs take them anyway.
THIMBLE_INLINE __m256i to_bfloat16_bits(Vec a) { return (__m256i)_mm512_cvtneps_pbh(a.v); }
#else
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
THIMBLE_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
THIMBLE_INLINE Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
THIMBLE_INLINE Vec where_at_least(Vec a, Vec b, Vec yes, Vec no) {
  return {_mm512_mask_mov_ps(no.v, _mm512_cmp_ps_mask(a.v, b.v, _CMP_GE_OQ), yes.v)};
}
THIMBLE_INLINE Vec where_positive(Vec gate, Vec a) {
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(gate.v, _mm512_setzero_ps(), _CMP_GT_OQ), a.v)};
}
THIMBLE_INLINE unsigned positive_bits(Vec a) { return _mm512_cmp_ps_mask(a.v, _mm512_setzero_ps(), _CMP_GT_OQ); }
THIMBLE_INLINE Vec where_bits(unsigned bits, Vec a) { return {_mm512_maskz_mov_ps(static_cast<__mmask16>(bits), a.v)}; }
THIMBLE_INLINE void add_to(double* sums, Vec a) {
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a.v)),
                high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1));
  _mm512_storeu_pd(sums, _mm512_add_pd(_mm512_loadu_pd(sums), low));
  _mm512_storeu_pd(sums + 8, _mm512_add_pd(_mm512_loadu_pd(sums + 8), high));
}
THIMBLE_INLINE void add_squares_to(double* sums, Vec a) {
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a.v)),
                high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1));
  _mm512_storeu_pd(sums, _mm512_fmadd_pd(low, low, _mm512_loadu_pd(sums)));
  _mm512_storeu_pd(sums + 8, _mm512_fmadd_pd(high, high, _mm512_loadu_pd(sums + 8)));
}

THIMBLE_INLINE void load_split(Vec& even, Vec& odd, const BFloat16* p, int count) {
  const auto mask = static_cast<__mmask32>((std::uint64_t{1} << count) - 1);
  const __m512i both = _mm512_maskz_loadu_epi16(mask, p);
  even.v = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
  odd.v = _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
}
THIMBLE_INLINE void unsplit(Vec& even, Vec& odd) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  const __m512 first = _mm512_permutex2var_ps(even.v, low, odd.v);
  odd.v = _mm512_permutex2var_ps(even.v, high, odd.v);
  even.v = first;
}
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

THIMBLE_INLINE __m256i upper_halves(Vec a) {
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(a.v), 16));
}
THIMBLE_INLINE void store_bits(BFloat16* p, Vec a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), upper_halves(a));
}
THIMBLE_INLINE void store_first_bits(BFloat16* p, Vec a, int count) {
  _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1U << count) - 1U), upper_halves(a));
}

THIMBLE_INLINE Vec where_beats(Vec a, Vec b, Vec yes, Vec no) {
  const __mmask16 beats = _mm512_cmp_ps_mask(a.v, b.v, _CMP_NLE_UQ);
  return {_mm512_mask_mov_ps(no.v, _mm512_mask_cmp_ps_mask(beats, b.v, b.v, _CMP_ORD_Q), yes.v)};
}
THIMBLE_INLINE Vec where_byte(const std::uint8_t* bytes, int byte, Vec a) {
  const __m128i found = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  return {_mm512_maskz_mov_ps(_mm_cmpeq_epi8_mask(found, _mm_set1_epi8(static_cast<char>(byte))), a.v)};
}
THIMBLE_INLINE void store_bytes(std::uint8_t* p, Vec a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(a.v)));
}

THIMBLE_INLINE Vec nearest(Vec a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
THIMBLE_INLINE Vec times_power_of_two(Vec a, Vec power) { return {_mm512_scalef_ps(a.v, power.v)}; }

struct Words {
  __m512i v;
};
THIMBLE_INLINE Words broadcast_word(std::uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }
THIMBLE_INLINE Words load_words(const std::uint32_t* p) { return {_mm512_loadu_si512(p)}; }
THIMBLE_INLINE Words exclusive_or(Words a, Words b, Words c) {
  return {_mm512_ternarylogic_epi32(a.v, b.v, c.v, 0x96)};
}
THIMBLE_INLINE void multiply(Words a, Words b, Words& low, Words& high) {
  const __m512i even = _mm512_mul_epu32(a.v, b.v), odd = _mm512_mul_epu32(_mm512_srli_epi64(a.v, 32), b.v);
  constexpr __mmask16 kOdd = 0xAAAA;
  low = {_mm512_mask_mov_epi32(even, kOdd, _mm512_slli_epi64(odd, 32))};
  high = {_mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), kOdd, odd)};
}
THIMBLE_INLINE unsigned at_least_bits(Words a, std::uint32_t bound) {
  return _mm512_cmpge_epu32_mask(a.v, _mm512_set1_epi32(static_cast<int>(bound)));
}
THIMBLE_INLINE void store_stochastic(BFloat16* p, Vec a, Words random) {
  const __m512i bits = _mm512_castps_si512(a.v);
  const __m512i moved = _mm512_add_epi32(bits, _mm512_and_si512(random.v, _mm512_set1_epi32(0xffff)));
  const __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(a.v, a.v, _CMP_UNORD_Q);
  const __m512i words = _mm512_mask_mov_epi32(_mm512_srli_epi32(moved, 16), is_nan, quiet);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(words));
}

}  // namespace thimble::kernels::THIMBLE_ISA
