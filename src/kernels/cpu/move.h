// What the kernels share that only move elements: runs along an axis, and small matrices transposed without a change
// of any bit.
#pragma once

#include "kernels/cpu/stream.h"

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

// Whether results made of pieces of so many bytes go past the caches: more than those hold, of whole lines.
THIMBLE_INLINE bool streams_pieces(const TensorView& results, Bytes piece) {
  return piece % kLineBytes == 0 &&
         is_streamed(results.as<const float>(), Type{results.dtype, results.shape}.bytes() / 4, kLanes);
}

// Whole lines past the caches, where vectors fill them.
template <typename Line>
void stream_lines(Line* to, const Line* from, Bytes bytes) {
  if constexpr (kFillsLine<Line>) {
    for (Bytes done = 0; done < bytes; done += kLineBytes, to += kLanes, from += kLanes) stream(to, load(from));
  }
}

static inline void move_bytes(std::byte* to, const std::byte* from, Bytes bytes, bool streams) {
  if (!streams) return copy_bytes(to, from, bytes);
  stream_lines(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from), bytes);
}

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
