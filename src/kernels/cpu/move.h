// What the kernels share that only move elements: runs along an axis, and small matrices transposed without a change
// of any bit.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

static inline std::int64_t count_before(const Shape& shape, int axis) {
  std::int64_t count = 1;
  for (int k = 0; k < axis; ++k) count *= shape[k];
  return count;
}

// The axis that an attribute names; negative ones count from the end.
static inline int axis_of(const KernelQuery& q, std::string_view name) {
  const auto axis = static_cast<int>(q.attributes->integer(name));
  return axis < 0 ? axis + q.in[0].shape.rank() : axis;
}

static inline void copy_bytes(std::byte* to, const std::byte* from, Bytes bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

// The bits of a vector that holds loaded elements. Other than store() it rounds nothing and leaves a NaN what it is.
THIMBLE_INLINE void store_bits(float* p, Vec a, AllLanes) { store(p, a); }
THIMBLE_INLINE void store_bits(float* p, Vec a, FirstLanes lanes) { store_first(p, a, lanes.count); }

#if defined(THIMBLE_ISA_AVX512)
THIMBLE_INLINE __m256i upper_halves(Vec a) {
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(a.v), 16));
}
THIMBLE_INLINE void store_bits(BFloat16* p, Vec a, AllLanes) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), upper_halves(a));
}
THIMBLE_INLINE void store_bits(BFloat16* p, Vec a, FirstLanes lanes) {
  _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1U << lanes.count) - 1U), upper_halves(a));
}
#else
THIMBLE_INLINE void store_bits(BFloat16* p, Vec a, AllLanes) {
  const __m256i words = _mm256_srli_epi32(_mm256_castps_si256(a.v), 16);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
THIMBLE_INLINE void store_bits(BFloat16* p, Vec a, FirstLanes lanes) {
  alignas(16) BFloat16 part[kLanes];
  store_bits(part, a, AllLanes{});
  for (int i = 0; i < lanes.count; ++i) p[i] = part[i];
}
#endif

// One tile of at most kLanes x kLanes elements.
template <typename T, typename Rows, typename Columns>
THIMBLE_INLINE void transpose_tile(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, Rows rows,
                                   Columns columns) {
  Vec m[kLanes];
  for (int i = 0; i < kLanes; ++i) m[i] = i < rows.count ? load(from + i * from_stride, columns) : zero();
  transpose(m);
  for (int j = 0; j < columns.count; ++j) store_bits(to + j * to_stride, m[j], rows);
}

// to[j * to_stride + i] = from[i * from_stride + j] for all i below `rows` and j in `columns`.
template <typename T>
void transpose_matrix(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t rows,
                      Range columns) {
  each_vector(columns.begin, columns.end, [=](std::int64_t j, auto wide) {
    each_vector(0, rows, [=](std::int64_t i, auto high) {
      transpose_tile(from + i * from_stride + j, from_stride, to + j * to_stride + i, to_stride, high, wide);
    });
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA
