// Activations seen as a matrix of rows (batch and space) by channels: sums down the columns and maps with coefficients
// a column. Few channels would leave lanes empty, so several rows are laid side by side (they already are, in memory)
// to one wide row.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr int kPanelVectors =
    4;  // vectors of one wide row that are worked on together, their coefficients in registers
constexpr std::int64_t kPanelWidth = kPanelVectors * kLanes;

struct Matrix {
  std::int64_t rows = 0, channels = 0;
  std::int64_t fold = 1;  // rows in a wide row

  std::int64_t width() const { return fold * channels; }
  std::int64_t wide_rows() const { return (rows + fold - 1) / fold; }  // the last may be shorter
  std::int64_t count() const { return rows * channels; }
};

// Wide rows are whole vectors and fill a panel. From a panel's width on, an odd number of channels keeps its one short
// vector a row.
static inline Matrix matrix_of(std::int64_t rows, std::int64_t channels) {
  std::int64_t fold = 1;
  if (channels > 0 && channels < kPanelWidth) {
    while (fold * channels % kLanes != 0) fold *= 2;
    while (fold * channels < kPanelWidth) fold *= 2;
  }
  return {rows, channels, fold};
}

static inline Matrix matrix_of(const Shape& shape) {
  const std::int64_t channels = shape.at(-1);
  return matrix_of(channels == 0 ? 0 : shape.count() / channels, channels);
}

// Elements of the wide rows that belong to `part` of `parts`.
static inline Range elements_of(const Matrix& m, int part, int parts) {
  const Range wide = part_of(m.wide_rows(), part, parts);
  return {smaller(wide.begin * m.width(), m.count()), smaller(wide.end * m.width(), m.count())};
}

// wide[f * channels + c] = narrow(c)
template <typename Narrow>
THIMBLE_INLINE void spread(const Matrix& m, float* wide, Narrow&& narrow) {
  for (std::int64_t c = 0; c < m.channels; ++c) {
    const float value = narrow(c);
    for (std::int64_t f = 0; f < m.fold; ++f) wide[f * m.channels + c] = value;
  }
}

// Rows that are finished before the next panel is begun: few enough that a block stays in the first cache.
static inline std::int64_t block_rows(std::int64_t width) {
  constexpr std::int64_t kBlockElements = 8192, kFewest = 8, kMost = 64;
  return smaller(kMost, larger(kFewest, kBlockElements / larger(width, 1)));
}

// Calls panel(first index, rows, column, vectors, lanes) over elements [begin, end), begin at the start of a wide row.
// `vectors` is a compile-time constant. Pieces depend on indices alone.
template <typename Panel>
THIMBLE_INLINE void each_panel(Range elements, std::int64_t width, Panel&& panel) {
  const std::int64_t whole = (elements.end - elements.begin) / width, step = block_rows(width);
  for (std::int64_t row = 0; row < whole; row += step) {
    const std::int64_t rows = smaller(step, whole - row), first = elements.begin + row * width;
    std::int64_t column = 0;
    for (; column + kPanelWidth <= width; column += kPanelWidth) {
      panel(first + column, rows, column, std::integral_constant<int, kPanelVectors>{}, AllLanes{});
    }
    for (; column + kLanes <= width; column += kLanes) {
      panel(first + column, rows, column, std::integral_constant<int, 1>{}, AllLanes{});
    }
    if (column < width) {
      panel(first + column, rows, column, std::integral_constant<int, 1>{},
            FirstLanes{static_cast<int>(width - column)});
    }
  }
  const std::int64_t rest = elements.begin + whole * width;
  each_vector(rest, elements.end, [&](std::int64_t i, auto lanes) {
    panel(i, std::int64_t{1}, i - rest, std::integral_constant<int, 1>{}, lanes);
  });
}

// For every column of the wide rows: first[column] += sum of p, second[column] += sum of p * q, where terms.step gives
// p and q of an element. Sums are f32 within a block of rows and double across blocks.
template <typename Terms>
void sum_columns(Range elements, std::int64_t width, const Terms& terms, double* first, double* second) {
  each_panel(elements, width,
             [&](std::int64_t index, std::int64_t rows, std::int64_t column, auto vectors, auto lanes) {
               constexpr int kCount = decltype(vectors)::value;
               typename Terms::Panel panel[kCount];
               Vec p_sum[kCount], pq_sum[kCount];
               for (int v = 0; v < kCount; ++v) {
                 panel[v] = terms.open(column + v * kLanes, lanes);
                 p_sum[v] = pq_sum[v] = zero();
               }
               for (std::int64_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
                 for (int v = 0; v < kCount; ++v) {
                   Vec p, q;
                   terms.step(panel[v], index + row * width + v * kLanes, lanes, p, q);
                   p_sum[v] = add(p_sum[v], p);
                   pq_sum[v] = fma(p, q, pq_sum[v]);
                 }
               }
               for (int v = 0; v < kCount; ++v) {
                 add_to(first + column + v * kLanes, p_sum[v], lanes);
                 add_to(second + column + v * kLanes, pq_sum[v], lanes);
               }
             });
}

// The same for plain sums: first[column] += sum of x. global_avg_pool and channel_sum need no products.
template <typename T>
void sum_columns(Range elements, std::int64_t width, const T* x, double* first) {
  each_panel(elements, width,
             [&](std::int64_t index, std::int64_t rows, std::int64_t column, auto vectors, auto lanes) {
               constexpr int kCount = decltype(vectors)::value;
               Vec sum[kCount];
               for (int v = 0; v < kCount; ++v) sum[v] = zero();
               for (std::int64_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
                 for (int v = 0; v < kCount; ++v)
                   sum[v] = add(sum[v], load(x + index + row * width + v * kLanes, lanes));
               }
               for (int v = 0; v < kCount; ++v) add_to(first + column + v * kLanes, sum[v], lanes);
             });
}

// Calls map.step for every vector, its column's coefficients in registers.
template <typename Map>
void map_columns(Range elements, std::int64_t width, const Map& map) {
  each_panel(elements, width,
             [&](std::int64_t index, std::int64_t rows, std::int64_t column, auto vectors, auto lanes) {
               constexpr int kCount = decltype(vectors)::value;
               typename Map::Panel panel[kCount];
               for (int v = 0; v < kCount; ++v) panel[v] = map.open(column + v * kLanes, lanes);
               for (std::int64_t row = 0; row < rows; ++row) {
#pragma GCC unroll 4
                 for (int v = 0; v < kCount; ++v) map.step(panel[v], index + row * width + v * kLanes, lanes);
               }
             });
}

// Sum over the folded rows: narrow[c] = sum of wide[f * channels + c], in place at the front of the same array.
static inline void gather_folds(const Matrix& m, double* wide) {
  for (std::int64_t f = 1; f < m.fold; ++f) {
    for (std::int64_t c = 0; c < m.channels; ++c) wide[c] += wide[f * m.channels + c];
  }
}

static inline void clear(double* sums, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sums[i] = 0;
}

}  // namespace thimble::kernels::THIMBLE_ISA
