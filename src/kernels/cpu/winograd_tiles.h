// Maps cut into tiles of 2x2 outputs, and what the products want of them: the 4x4 source pixels of every tile, or its
// 2x2 gradients, transformed and laid out point by point as units, (16, tiles, channels). Pixels beyond the border are
// zero, so maps of odd size need nothing else.
#pragma once

#include "kernels/cpu/conv_norm.h"
#include "kernels/cpu/conv_shape.h"
#include "kernels/cpu/winograd.h"

namespace thimble::kernels::THIMBLE_ISA {

// Source and output of a 3x3 convolution of stride and padding 1 are maps of one size.
struct WinogradGrid {
  std::int64_t batch = 0, height = 0, width = 0;  // pixels

  std::int64_t rows() const { return divide_up(height, kWinogradOut); }
  std::int64_t columns() const { return divide_up(width, kWinogradOut); }
  std::int64_t count() const { return batch * rows() * columns(); }
  std::int64_t pixel(std::int64_t image, std::int64_t y, std::int64_t x) const {
    return (image * height + y) * width + x;
  }
};

// Neighbouring tiles of one row of one image; `place` is the first one's place in the block.
struct TileRun {
  std::int64_t image = 0, row = 0, column = 0, count = 0, place = 0;
};

// Calls body(run) for the tiles [tiles.begin, tiles.end), counted over all rows of all images.
template <typename Body>
void for_runs(const WinogradGrid& grid, Range tiles, Body&& body) {
  const std::int64_t rows = grid.rows(), columns = grid.columns();
  for (std::int64_t tile = tiles.begin; tile < tiles.end;) {
    const std::int64_t row = tile / columns, column = tile % columns;
    const std::int64_t count = smaller(columns - column, tiles.end - tile);
    body(TileRun{row / rows, row % rows, column, count, tile - tiles.begin});
    tile += count;
  }
}

// Units (16, rows, row): a few between points keep them from falling on one set of the cache.
struct PointLayout {
  std::int64_t rows = 0, row = 0;

  std::int64_t point() const { return rows * row + kPointGap; }
  std::int64_t elements() const { return kWinogradPoints * point(); }

  static constexpr std::int64_t kPointGap = 16;
};

// What the products sum over: where units are pairs, they are of neighbours in it.
enum class SumsOver : std::uint8_t { channels, tiles };

// Where the points of a block of tiles go.
template <SumsOver kOver>
struct PointBlock {
  Unit* data = nullptr;
  PointLayout layout;
  std::int64_t tiles = 0;  // in the block

  // Calls body(put) for one vector of channels of one tile; put(point, value) writes what belongs to a point.
  template <typename Lanes, typename Body>
  [[gnu::always_inline]] void write(std::int64_t tile, std::int64_t channel, Lanes lanes, Body&& body) const {
    const std::int64_t point = layout.point();
    if constexpr (!kHasPairs) {
      Unit* to = data + tile * layout.row + channel;
      body([=](int index, Vec value) __attribute__((always_inline)) { store(to + index * point, value, lanes); });
    } else if constexpr (kOver == SumsOver::channels) {
      auto* to = reinterpret_cast<UnitElement*>(data + tile * layout.row) + channel;
      body([=](int index, Vec value)
               __attribute__((always_inline)) { store(to + index * point * kUnitElements, value, whole(lanes)); });
    } else {
      write_half(data + tile / kUnitElements * layout.row + channel, tile, lanes, body);
    }
  }

 private:
  // The last pair of channels is whole: lanes beyond them are zero.
  static AllLanes whole(AllLanes lanes) { return lanes; }
  static FirstLanes whole(FirstLanes lanes) { return {static_cast<int>(units_of(lanes.count) * kUnitElements)}; }

  // The first tile of a pair leaves its numbers, not rounded yet, where the second joins them.
  template <typename Lanes, typename Body>
  [[gnu::always_inline]] void write_half(Unit* to, std::int64_t tile, Lanes lanes, Body&& body) const {
    const std::int64_t point = layout.point();
    if (tile % kUnitElements != 0) {
      body([=](int index, Vec value) __attribute__((always_inline)) {
        Unit* unit = to + index * point;
        store(unit, join(load(unit, lanes), value), lanes);
      });
    } else if (tile + 1 < tiles) {
      body([=](int index, Vec value) __attribute__((always_inline)) { store(to + index * point, value, lanes); });
    } else {
      body([=](int index, Vec value)
               __attribute__((always_inline)) { store(to + index * point, join(value, zero()), lanes); });
    }
  }
};

// Some channels of a map (batch, height, width, channels).
struct ChosenMap {
  const WinogradGrid& grid;
  const UnitElement* data = nullptr;
  std::int64_t channels = 0;
  Range chosen;
};

constexpr std::int64_t kLineElements = 64 / sizeof(UnitElement);  // of a line of the cache

// Rows of a map that a tile reads, from `first` on; null outside.
template <int kRows>
struct MapRows {
  const UnitElement* row[kRows];

  MapRows(const ChosenMap& map, std::int64_t image, std::int64_t first, std::int64_t channel) {
    for (int i = 0; i < kRows; ++i) {
      const std::int64_t y = first + i;
      const bool is_inside = y >= 0 && y < map.grid.height;
      row[i] = is_inside ? map.data + map.grid.pixel(image, y, 0) * map.channels + channel : nullptr;
    }
  }
};

// Asks for the pixels of a run in the order in which they lie. The transforms take one vector of each pixel at a time:
// left to themselves they would wait for memory.
template <int kRows>
THIMBLE_INLINE void fetch_run(const ChosenMap& map, const TileRun& run, std::int64_t first) {
  const MapRows<kRows> rows(map, run.image, first, 0);
  const std::int64_t x = run.column * kWinogradOut, end = smaller(x + run.count * kWinogradOut + 1, map.grid.width);
  for (int i = 0; i < kRows; ++i) {
    if (rows.row[i] == nullptr) continue;
    for (std::int64_t pixel = x; pixel < end; ++pixel) {
      const UnitElement* data = rows.row[i] + pixel * map.channels;
      for (std::int64_t c = map.chosen.begin; c < map.chosen.end; c += kLineElements) {
        __builtin_prefetch(data + c);
      }
    }
  }
}

// B^T x B for one vector of channels of a run. `read` is what happens to a pixel on the way. Neighbouring tiles share
// two columns of pixels: what B^T made of them is kept.
template <SumsOver kOver, typename Lanes, typename Read>
THIMBLE_INLINE void transform_run(const ChosenMap& map, const TileRun& run, std::int64_t channel, Lanes lanes,
                                  const Read& read, const PointBlock<kOver>& to) {
  const MapRows<kWinogradIn> rows(map, run.image, run.row * kWinogradOut - 1, channel);
  const std::int64_t width = map.grid.width, step = map.channels;
  const auto column = [&](Vec(&made)[4], std::int64_t x) __attribute__((always_inline)) {
    Vec pixel[kWinogradIn] = {zero(), zero(), zero(), zero()};
    if (x >= 0 && x < width) {
#pragma GCC unroll 4
      for (int i = 0; i < kWinogradIn; ++i) {
        if (rows.row[i] != nullptr) pixel[i] = read(load(rows.row[i] + x * step, lanes));
      }
    }
    transform_source(made, pixel[0], pixel[1], pixel[2], pixel[3]);
  };
  std::int64_t x = run.column * kWinogradOut - 1;
  Vec made[kWinogradIn][4];
  column(made[0], x);
  column(made[1], x + 1);
  for (std::int64_t tile = 0; tile < run.count; ++tile, x += kWinogradOut) {
    column(made[2], x + 2);
    column(made[3], x + 3);
    to.write(
        run.place + tile, channel - map.chosen.begin, lanes, [&](auto put) __attribute__((always_inline)) {
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) {
            Vec points[4];
            transform_source(points, made[0][i], made[1][i], made[2][i], made[3][i]);
#pragma GCC unroll 4
            for (int j = 0; j < 4; ++j) put(4 * i + j, points[j]);
            made[0][i] = made[2][i];
            made[1][i] = made[3][i];
          }
        });
  }
}

// The chosen channels of all tiles of a block.
template <SumsOver kOver>
void transform_tiles(const ChosenMap& map, Range tiles, BandNorm& norm, const PointBlock<kOver>& to) noexcept {
  for_runs(map.grid, tiles, [&](const TileRun& run) {
    norm.enter(run.image);
    fetch_run<kWinogradIn>(map, run, run.row * kWinogradOut - 1);
    const auto all_channels = [&](auto&& reader_of) __attribute__((always_inline)) {
      each_vector(map.chosen.begin, map.chosen.end, [&](std::int64_t channel, auto lanes) {
        transform_run(map, run, channel, lanes, reader_of(channel, lanes), to);
      });
    };
    if (!norm.exists()) {
      all_channels([](std::int64_t, auto) { return [](Vec x) { return x; }; });
      return;
    }
    with_activation(norm.activation(), [&](auto known) {
      all_channels([&](std::int64_t channel, auto lanes) {
        return [vectors = norm.vectors(channel, lanes)](Vec x) {
          return vectors.template apply<decltype(known)::value>(x);
        };
      });
    });
  });
}

// A dy A^T for one vector of channels of a run.
template <SumsOver kOver, typename Lanes>
THIMBLE_INLINE void spread_run(const ChosenMap& map, const TileRun& run, std::int64_t channel, Lanes lanes,
                               const PointBlock<kOver>& to) {
  const MapRows<kWinogradOut> rows(map, run.image, run.row * kWinogradOut, channel);
  const std::int64_t step = map.channels;
  std::int64_t x = run.column * kWinogradOut;
  for (std::int64_t tile = 0; tile < run.count; ++tile, x += kWinogradOut) {
    const bool is_whole = x + 1 < map.grid.width;
    Vec made[kWinogradOut][4];
#pragma GCC unroll 2
    for (int i = 0; i < kWinogradOut; ++i) {
      const bool is_inside = rows.row[i] != nullptr;
      spread_gradient(made[i], is_inside ? load(rows.row[i] + x * step, lanes) : zero(),
                      is_inside && is_whole ? load(rows.row[i] + (x + 1) * step, lanes) : zero());
    }
    to.write(
        run.place + tile, channel - map.chosen.begin, lanes, [&](auto put) __attribute__((always_inline)) {
#pragma GCC unroll 4
          for (int j = 0; j < 4; ++j) {
            Vec points[4];
            spread_gradient(points, made[0][j], made[1][j]);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) put(4 * i + j, points[i]);
          }
        });
  }
}

template <SumsOver kOver>
void spread_tiles(const ChosenMap& map, Range tiles, const PointBlock<kOver>& to) noexcept {
  for_runs(map.grid, tiles, [&](const TileRun& run) {
    fetch_run<kWinogradOut>(map, run, run.row * kWinogradOut);
    each_vector(map.chosen.begin, map.chosen.end,
                [&](std::int64_t channel, auto lanes) { spread_run(map, run, channel, lanes, to); });
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA
