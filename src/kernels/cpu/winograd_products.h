// Products of transformed tiles with transformed weights, point by point. Where units are pairs, the four points of a
// row are multiplied at once, a few tiles of them in as many registers as fourteen tiles of one point take, and what
// leaves the registers is two sums of those points, not four.
#pragma once

#include "kernels/cpu/winograd_tiles.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr int kSumsOfRow = kHasPairs ? 2 : 4;  // that are left of a row's four points

// Transformed weights of a panel of columns: (16, units, kTileColumns) or, of points that lie together,
// (4, units, 4, kTileColumns).
struct WeightLayout {
  std::int64_t units = 0;

  std::int64_t unit() const { return kPointsTogether * kTileColumns; }
  std::int64_t row() const { return 4 * units * kTileColumns; }
  std::int64_t point(int i, int j) const {
    return i * row() + j * (kPointsTogether > 1 ? kTileColumns : units * kTileColumns);
  }
};

// Sums (4, kSumsOfRow, rows, row), a few apart as points are.
struct SumLayout {
  std::int64_t rows = 0, row = 0;

  std::int64_t point() const { return rows * row + PointLayout::kPointGap; }
  std::int64_t elements() const { return 4 * kSumsOfRow * point(); }
};

struct PointProducts {
  const Unit* source;
  PointLayout from;
  const Unit* weights;
  WeightLayout panel;
  float* sums;
  SumLayout to;
};

// What is left to do for row i of a tile's outputs once columns are gathered.
THIMBLE_INLINE void end_row(Vec (&outs)[2], const Vec (&made)[4][2], int i) {
  gather_outputs(outs, made[0][i], made[1][i], made[2][i], made[3][i]);
}
THIMBLE_INLINE void end_row(Vec (&outs)[2], const Vec (&made)[2][2], int i) {
  outs[0] = made[0][i];
  outs[1] = made[1][i];
}

// A row of points of a few tiles and one or two vectors of columns.
struct RowWork {
  const Unit* source = nullptr;
  std::int64_t tile = 0;  // from one to the next
  const Unit* weights = nullptr;
  std::int64_t units = 0;
  float* sums = nullptr;
  std::int64_t sums_row = 0, sums_point = 0;
  const std::byte* ahead = nullptr;  // fetched meanwhile, a line a unit
  std::int64_t ahead_step = 0;
};

template <int kTiles, int kVectors, typename Lanes>
void multiply_row(const RowWork& w, Lanes lanes) noexcept {
  Vec sums[4][kTiles][kVectors];
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
#pragma GCC unroll 8
    for (int t = 0; t < kTiles; ++t) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[j][t][v] = zero();
    }
  }
  const Unit* tile[kTiles];
#pragma GCC unroll 8
  for (int t = 0; t < kTiles; ++t) tile[t] = w.source + t * w.tile;
  const Unit* weights = w.weights;
  const std::byte* ahead = w.ahead;
  for (std::int64_t unit = 0; unit < w.units; ++unit, weights += 4 * kTileColumns, ahead += w.ahead_step) {
    __builtin_prefetch(ahead, 0, 2);
    const std::int64_t at =
        unit + unit / kVectorUnits * (3 * kVectorUnits);  // earlier units' other points lie before it
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      Vec row[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) row[v] = load(weights + j * kTileColumns + v * kLanes, lanes);
#pragma GCC unroll 8
      for (int t = 0; t < kTiles; ++t) add_product(sums[j][t], tile[t][at + j * kVectorUnits], row);
    }
  }
  float* to = w.sums;
#pragma GCC unroll 8
  for (int t = 0; t < kTiles; ++t, to += w.sums_row) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      Vec left[2];
      gather_outputs(left, sums[0][t][v], sums[1][t][v], sums[2][t][v], sums[3][t][v]);
      store(to + v * kLanes, left[0]);
      store(to + w.sums_point + v * kLanes, left[1]);
    }
  }
}

// Tiles that fill the registers: of one vector, and of two, where each number of a tile is loaded for two products and
// loading takes less time than multiplying.
constexpr int kRowTiles = 7, kWideRowTiles = 3;

template <int kVectors, typename Lanes, int... kCount>
THIMBLE_INLINE void multiply_row(std::integer_sequence<int, kCount...>, const RowWork& w, std::int64_t tiles,
                                 Lanes lanes) {
  using Function = void (*)(const RowWork&, Lanes) noexcept;
  static constexpr Function kOf[] = {multiply_row<kCount + 1, kVectors, Lanes>...};
  kOf[tiles - 1](w, lanes);
}

// Four points at once.
inline void multiply_rows(const PointProducts& p, std::int64_t tiles, std::int64_t columns, FetchQueue& queue) {
  const bool is_wide = columns == kTileColumns;
  RowWork w;
  w.tile = p.from.tile();
  w.units = p.panel.units;
  w.sums_row = p.to.row;
  w.sums_point = p.to.point();
  for (int i = 0; i < 4; ++i) {
    for_tiles(tiles, is_wide ? kWideRowTiles : kRowTiles, [&](std::int64_t begin, std::int64_t end) {
      w.source = p.source + i * p.from.point() + begin * p.from.tile();
      for (std::int64_t n = 0; n < columns; n += is_wide ? kTileColumns : kLanes) {
        w.weights = p.weights + p.panel.point(i, 0) + n;
        w.sums = p.sums + i * kSumsOfRow * p.to.point() + begin * p.to.row + n;
        const std::byte* ahead = queue.take(w.units);
        w.ahead = ahead == nullptr ? reinterpret_cast<const std::byte*>(w.source) : ahead;
        w.ahead_step = ahead == nullptr ? 0 : queue.row;
        if (is_wide) {
          multiply_row<2>(std::make_integer_sequence<int, kWideRowTiles>{}, w, end - begin, AllLanes{});
        } else {
          const FirstLanes lanes = {static_cast<int>(smaller(kLanes, columns - n))};
          multiply_row<1>(std::make_integer_sequence<int, kRowTiles>{}, w, end - begin, lanes);
        }
      }
    });
  }
}

// One panel of a block of tiles.
inline void multiply_points(const PointProducts& p, std::int64_t tiles, std::int64_t columns, FetchQueue& queue) {
  if constexpr (kHasPairs) return multiply_rows(p, tiles, columns, queue);
  TileWork t;
  t.a_row = p.from.row;
  t.count = p.panel.units;
  t.b_next = kTileColumns;
  t.c_row = p.to.row;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      const int point = 4 * i + j;
      t.a = p.source + point * p.from.point();
      t.b = p.weights + p.panel.point(i, j);
      t.c = p.sums + point * p.to.point();
      run_tiles<Unit, false>(t, tiles, columns, {&queue, 1});
    }
  }
}

}  // namespace thimble::kernels::THIMBLE_ISA
