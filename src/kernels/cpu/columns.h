// Activations seen as a matrix of rows (batch and space) by channels: sums down the columns and maps with coefficients
// a column. Few channels would leave lanes empty, so several rows are laid side by side (they already are, in memory)
// to one wide row.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr int kPanelVectors =
    4;  // vectors of one wide row that are worked on together, their coefficients in registers
constexpr std::int64_t kPanelWidth = kPanelVectors * kLanes;

constexpr std::int64_t kCachedCount = 4 * 1024 * 1024;  // more elements come from main memory

struct Matrix {
  std::int64_t rows = 0, channels = 0;
  std::int64_t fold = 1;    // rows in a wide row
  bool is_fetched = false;  // passes over it fetch what comes next

  std::int64_t width() const { return fold * channels; }
  std::int64_t wide_rows() const { return (rows + fold - 1) / fold; }  // the last may be shorter
  std::int64_t count() const { return rows * channels; }
};

// Wide rows are whole vectors and fill a panel. From a panel's width on, an odd number of channels keeps its one short
// vector a row. A panel jumps from row to row, which no hardware foresees: then, and where the tensor is so large that
// it comes from main memory, each panel fetches its share of the next block, which lies in one piece. In the caches
// rows of a single panel run faster without.
static inline Matrix matrix_of(std::int64_t rows, std::int64_t channels, std::int64_t tensor_count) {
  Matrix m{rows, channels};
  if (channels > 0 && channels < kPanelWidth) {
    while (m.width() % kLanes != 0) m.fold *= 2;
    while (m.width() < kPanelWidth) m.fold *= 2;
  }
  m.is_fetched = m.width() > kPanelWidth || tensor_count > kCachedCount;
  return m;
}

static inline Matrix matrix_of(const Shape& shape) {
  const std::int64_t channels = shape.at(-1);
  return matrix_of(channels == 0 ? 0 : shape.count() / channels, channels, shape.count());
}

// Elements of the wide rows that belong to `part` of `parts`.
static inline Range elements_of(const Matrix& m, int part, int parts) {
  const Range wide = part_of(m.wide_rows(), part, parts);
  return {smaller(wide.begin * m.width(), m.count()), smaller(wide.end * m.width(), m.count())};
}

// Copies the first `channels` entries to the other folds of a wide row.
THIMBLE_INLINE void repeat_folds(const Matrix& m, float* wide) {
  for (std::int64_t f = 1; f < m.fold; ++f) {
    std::memcpy(wide + f * m.channels, wide, static_cast<std::size_t>(m.channels) * sizeof(float));
  }
}

// Rows that are finished before the next panel is begun: few enough that a block, and the next one on its way, stay in
// the first cache, and that f32 sums down a block stay precise.
static inline std::int64_t block_rows(std::int64_t width) {
  constexpr std::int64_t kBlockElements = 4096, kFewest = 8, kMost = 64;
  return smaller(kMost, larger(kFewest, kBlockElements / width));
}

// kVectors neighbouring vectors in each of `rows` rows.
template <int kVectors, typename LaneCount>
struct PanelPlace {
  static constexpr int kCount = kVectors;
  std::int64_t index, rows, column;  // first element, number of rows, column of the first element
  std::int64_t ahead;                // a stretch of as many elements in the block that comes next
  LaneCount lanes;
};

// The panels of one block of rows that begins at `first`; `next` is where the block that comes next begins.
template <typename Visit>
THIMBLE_INLINE void each_panel(std::int64_t first, std::int64_t rows, std::int64_t width, std::int64_t next,
                               Visit&& visit) {
  std::int64_t column = 0;
  for (; column + kPanelWidth <= width; column += kPanelWidth) {
    visit(PanelPlace<kPanelVectors, AllLanes>{first + column, rows, column, next + column * rows, {}});
  }
  if (column + 2 * kLanes <= width) {
    visit(PanelPlace<2, AllLanes>{first + column, rows, column, next + column * rows, {}});
    column += 2 * kLanes;
  }
  if (column + kLanes <= width) {
    visit(PanelPlace<1, AllLanes>{first + column, rows, column, next + column * rows, {}});
    column += kLanes;
  }
  if (column < width) {
    const FirstLanes lanes{static_cast<int>(width - column)};
    visit(PanelPlace<1, FirstLanes>{first + column, rows, column, next + column * rows, lanes});
  }
}

// The last, short wide row.
template <typename Visit>
THIMBLE_INLINE void each_rest(std::int64_t rest, std::int64_t end, Visit&& visit) {
  each_vector(rest, end, [&](std::int64_t i, auto lanes) {
    visit(PanelPlace<1, decltype(lanes)>{i, 1, i - rest, i, lanes});
  });
}

template <typename T>
THIMBLE_INLINE void fetch(const T* p) {
  __builtin_prefetch(p);
}

// Sums of one panel.
template <bool kFetches, typename Place, typename Terms>
THIMBLE_INLINE void sum_panel(const Place& place, std::int64_t width, const Terms& terms, double* first,
                              double* second) {
  constexpr int kCount = Place::kCount;
  typename Terms::Panel panel[kCount];
  Vec p_sum[kCount], pq_sum[kCount];
  for (int v = 0; v < kCount; ++v) {
    panel[v] = terms.open(place.column + v * kLanes, place.lanes);
    p_sum[v] = pq_sum[v] = zero();
  }
  for (std::int64_t row = 0; row < place.rows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) {
      Vec p, q;
      terms.step(panel[v], place.index + row * width + v * kLanes, place.lanes, p, q);
      if constexpr (kFetches) terms.fetch_ahead(place.ahead + (row * kCount + v) * kLanes);
      p_sum[v] = add(p_sum[v], p);
      pq_sum[v] = fma(p, q, pq_sum[v]);
    }
  }
  for (int v = 0; v < kCount; ++v) {
    add_to(first + place.column + v * kLanes, p_sum[v], place.lanes);
    add_to(second + place.column + v * kLanes, pq_sum[v], place.lanes);
  }
}

// Calls visit(place, fetches) for every panel of the wide rows of [begin, end), whose last may be short; `fetches`, a
// type, says whether what comes next is worth fetching. Always forward: hardware foresees ascending addresses alone.
template <typename Fetches, typename Visit>
THIMBLE_INLINE void each_place_as(Range elements, std::int64_t width, Fetches fetches, Visit&& visit) {
  const std::int64_t whole = (elements.end - elements.begin) / width, step = block_rows(width);
  for (std::int64_t row = 0; row < whole; row += step) {
    const std::int64_t rows = smaller(step, whole - row), index = elements.begin + row * width;
    each_panel(index, rows, width, index + rows * width, [&](const auto& place) { visit(place, fetches); });
  }
  each_rest(elements.begin + whole * width, elements.end, [&](const auto& place) { visit(place, std::false_type{}); });
}

template <typename Visit>
void each_place(const Matrix& m, Range elements, Visit&& visit) {
  if (m.is_fetched) {
    each_place_as(elements, m.width(), std::true_type{}, visit);
  } else {
    each_place_as(elements, m.width(), std::false_type{}, visit);
  }
}

// For every column of the wide rows of [begin, end): first[column] += sum of p, second[column] += sum of p * q, where
// terms.step gives p and q of an element. Sums are f32 within a block of rows and double across blocks.
template <typename Terms>
void sum_columns(const Matrix& m, Range elements, const Terms& terms, double* first, double* second) {
  each_place(
      m, elements, [&](const auto& place, auto fetches) __attribute__((always_inline)) {
        sum_panel<decltype(fetches)::value>(place, m.width(), terms, first, second);
      });
}

// The same for plain sums: first[column] += sum of x. global_avg_pool and channel_sum need no products.
template <typename T>
void sum_columns(Range elements, std::int64_t width, const T* x, double* first) {
  const std::int64_t whole = (elements.end - elements.begin) / width;
  std::int64_t row = 0;
  for (; row + 4 <= whole; row += 4) {
    each_vector(0, width, [&](std::int64_t column, auto lanes) {
      const T* place = x + elements.begin + row * width + column;
      const Vec near = add(load(place, lanes), load(place + width, lanes));
      const Vec far = add(load(place + 2 * width, lanes), load(place + 3 * width, lanes));
      add_to(first + column, add(near, far), lanes);
    });
  }
  for (std::int64_t index = elements.begin + row * width; index < elements.end; index += width) {
    each_vector(0, smaller(width, elements.end - index), [&](std::int64_t column, auto lanes) {
      add_to(first + column, load(x + index + column, lanes), lanes);
    });
  }
}

template <bool kFetches, typename Place, typename Map>
THIMBLE_INLINE void map_panel(const Place& place, std::int64_t width, const Map& map) {
  constexpr int kCount = Place::kCount;
  typename Map::Panel panel[kCount];
  for (int v = 0; v < kCount; ++v) panel[v] = map.open(place.column + v * kLanes, place.lanes);
  for (std::int64_t row = 0; row < place.rows; ++row) {
#pragma GCC unroll 4
    for (int v = 0; v < kCount; ++v) {
      map.step(panel[v], place.index + row * width + v * kLanes, place.lanes);
      if constexpr (kFetches) map.fetch_ahead(place.ahead + (row * kCount + v) * kLanes);
    }
  }
}

// Calls map.step for every vector of the wide rows of [begin, end), panel by panel.
template <typename Map>
void map_panels(const Matrix& m, Range elements, const Map& map) {
  each_place(
      m, elements, [&](const auto& place, auto fetches) __attribute__((always_inline)) {
        map_panel<decltype(fetches)::value>(place, m.width(), map);
      });
}

// The same in the order in which elements lie in memory, their coefficients loaded anew for every row: slower than
// panels in the caches, and faster where all is far and not much is to be loaded beside (Map::kRunsByRows).
template <typename Map>
void map_rows(const Matrix& m, Range elements, const Map& map) {
  constexpr std::int64_t kAhead = 1024;  // elements: hardware does not look beyond a page
  for (std::int64_t index = elements.begin; index < elements.end; index += m.width()) {
    each_vector(0, smaller(m.width(), elements.end - index), [&](std::int64_t column, auto lanes) {
      map.fetch_ahead(index + column + kAhead);
      map.step(map.open(column, lanes), index + column, lanes);
    });
  }
}

template <typename Map>
void map_columns(const Matrix& m, Range elements, const Map& map) {
  (Map::kRunsByRows && m.count() > kCachedCount ? map_rows<Map> : map_panels<Map>)(m, elements, map);
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
