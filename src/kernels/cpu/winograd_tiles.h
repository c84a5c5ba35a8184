// Maps cut into tiles of 2x2 outputs, and what the products want of them: the 4x4 source pixels of every tile, or its
// 2x2 gradients, transformed and laid out point by point as units, (16, tiles, channels). Pixels beyond the border are
// zero, so maps of odd size need nothing else.
#pragma once

#include "kernels/cpu/conv_norm.h"
#include "kernels/cpu/conv_shape.h"
#include "kernels/cpu/tile.h"
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

constexpr std::int64_t kVectorUnits = kLanes / kUnitElements;  // units of a vector of channels

// Units (16, rows, row), or, where some points lie together, (16 / together, rows, row / kVectorUnits, together,
// kVectorUnits): as a vector of channels of two points is rounded. A few units between them keep them from falling on
// one set of the cache.
struct PointLayout {
  std::int64_t rows = 0, row = 0, together = 1;

  std::int64_t tile() const { return row * together; }              // from one to the next
  std::int64_t point() const { return rows * tile() + kPointGap; }  // or from those that lie together to the next
  std::int64_t elements() const { return kWinogradPoints / together * point(); }

  static constexpr std::int64_t kPointGap = 16;
};

// Pairs of channels are multiplied four points at a time.
constexpr std::int64_t kPointsTogether = kHasPairs ? 4 : 1;

// What the products sum over: where units are pairs, they are of neighbours in it.
enum class SumsOver : std::uint8_t { channels, tiles };

// Where the points of a block of tiles go, for one vector of channels.
template <SumsOver kOver, typename Lanes>
class PointWriter {
 public:
  PointWriter(Unit* data, const PointLayout& layout, std::int64_t tiles, std::int64_t channel, Lanes lanes)
      : data_(data), row_(layout.tile()), point_(layout.point()), tiles_(tiles), channel_(channel), lanes_(lanes) {}

  // Where tiles are summed over, two that share a unit are written at once.
  static constexpr bool kJoinsTiles = kHasPairs && kOver == SumsOver::tiles;

  // Writes what points(values, i) gives: the four values of row i of one tile's points.
  template <typename Points>
  [[gnu::always_inline]] void write(std::int64_t tile, Points&& points) const {
    if constexpr (kJoinsTiles) {
      write_half(tile, points);
    } else if constexpr (kHasPairs) {
      write_together(data_ + tile * row_ + channel_ / kUnitElements * kPointsTogether, points);
    } else {
      write_rows(data_ + tile * row_ + channel_, point_, lanes_, points);
    }
  }

  bool begins_unit(std::int64_t tile) const { return tile % kUnitElements == 0; }

  // Two neighbours, of which the first begins a unit.
  template <typename First, typename Second>
  [[gnu::always_inline]] void write_two(std::int64_t tile, First&& first, Second&& second) const {
    write_rows(
        data_ + tile / kUnitElements * row_ + channel_, point_,
        lanes_, [&](Vec(&made)[4], int i) __attribute__((always_inline)) {
          Vec other[4];
          first(made, i);
          second(other, i);
#pragma GCC unroll 4
          for (int j = 0; j < 4; ++j) made[j] = join(made[j], other[j]);
        });
  }

 private:
  template <typename T, typename SomeLanes, typename Points>
  [[gnu::always_inline]] static void write_rows(T* to, std::int64_t point, SomeLanes lanes, Points&& points) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i, to += 4 * point) {
      Vec made[4];
      points(made, i);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) store(to + j * point, made[j], lanes);
    }
  }

  // Rows hold whole vectors: lanes beyond the channels are zero.
  template <typename Points>
  [[gnu::always_inline]] void write_together(Unit* to, Points&& points) const {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i, to += point_) {
      Vec made[4];
      points(made, i);
      store(to, join_neighbours(made[0], made[1]));
      store(to + kLanes, join_neighbours(made[2], made[3]));
    }
  }

  // The first tile of a pair leaves its numbers, not rounded yet, where the second joins them.
  template <typename Points>
  [[gnu::always_inline]] void write_half(std::int64_t tile, Points&& points) const {
    Unit* const to = data_ + tile / kUnitElements * row_ + channel_;
    const bool is_first = begins_unit(tile), is_alone = is_first && tile + 1 == tiles_;
    write_rows(
        to, point_, lanes_, [&](Vec(&made)[4], int i) __attribute__((always_inline)) {
          points(made, i);
          if (is_first && !is_alone) return;
#pragma GCC unroll 4
          for (int j = 0; j < 4; ++j)
            made[j] = is_alone ? join(made[j], zero()) : join(load(to + (4 * i + j) * point_, lanes_), made[j]);
        });
  }

  Unit* data_;
  std::int64_t row_, point_, tiles_, channel_;  // tiles: of the block; channel: of the first lane
  Lanes lanes_;
};

// A block of tiles.
template <SumsOver kOver>
struct PointBlock {
  Unit* data = nullptr;
  PointLayout layout;
  std::int64_t tiles = 0;

  template <typename Lanes>
  PointWriter<kOver, Lanes> at(std::int64_t channel, Lanes lanes) const {
    return {data, layout, tiles, channel, lanes};
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

// Asks for the pixels of a run in the order in which they lie, unless tiles of products did (pixels_ahead). The
// transforms take one vector of each pixel at a time: left to themselves they would wait for memory.
template <int kRows>
THIMBLE_INLINE void fetch_run(const ChosenMap& map, const TileRun& run, std::int64_t first) {
  if (kHasPairs) return;
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

// The pixels that the next tiles read and those up to `block` did not, for tiles to fetch while they multiply: whole
// rows, side by side. `below` is how many rows a tile reads from its first output on.
inline FetchQueue pixels_ahead(const ChosenMap& map, Range block, Range next, std::int64_t below) {
  const WinogradGrid& grid = map.grid;
  const auto rows_before = [&](std::int64_t tile) {  // the end of what the tiles before this one read
    const std::int64_t row = (tile - 1) / grid.columns(), image = row / grid.rows();
    return image * grid.height + smaller(row % grid.rows() * kWinogradOut + below, grid.height);
  };
  if (next.begin >= next.end) return {};
  const std::int64_t begin = rows_before(block.end),
                     pixel = map.channels * static_cast<std::int64_t>(sizeof(UnitElement));
  const std::int64_t chosen = (map.chosen.end - map.chosen.begin) * static_cast<std::int64_t>(sizeof(UnitElement));
  return {.first = reinterpret_cast<const std::byte*>(map.data + map.chosen.begin) + begin * grid.width * pixel,
          .row = pixel,
          .rows = (rows_before(next.end) - begin) * grid.width,
          .lines = divide_up(chosen, kLineBytes)};
}

// B^T x along one column of a tile's pixels; all of them lie inside the map if kIsInside.
template <bool kIsInside, typename Lanes, typename Read>
struct ColumnReader {
  MapRows<kWinogradIn> rows;
  std::int64_t width, step;
  Lanes lanes;
  const Read& read;

  [[gnu::always_inline]] void operator()(Vec (&made)[4], std::int64_t x) const {
    Vec pixel[kWinogradIn] = {zero(), zero(), zero(), zero()};
    if (x >= 0 && x < width) {
#pragma GCC unroll 4
      for (int i = 0; i < kWinogradIn; ++i) {
        if (kIsInside || rows.row[i] != nullptr) pixel[i] = read(load(rows.row[i] + x * step, lanes));
      }
    }
    transform_source(made, pixel[0], pixel[1], pixel[2], pixel[3]);
  }
};

// B^T x B for one vector of channels of a run. Neighbouring tiles share two columns of pixels: what B^T made of them is
// kept.
template <typename Column, SumsOver kOver, typename Lanes>
THIMBLE_INLINE void transform_columns(const Column& column, const TileRun& run, const PointWriter<kOver, Lanes>& to) {
  constexpr int kMost = PointWriter<kOver, Lanes>::kJoinsTiles ? 2 : 1;  // tiles at once
  std::int64_t x = run.column * kWinogradOut - 1, tile = run.place;
  const std::int64_t end = run.place + run.count;
  Vec made[kWinogradOut * kMost + 2][4];
  const auto points_from = [&](int first) __attribute__((always_inline)) {
    return [&, first ](Vec(&points)[4], int i) __attribute__((always_inline)) {
      transform_source(points, made[first][i], made[first + 1][i], made[first + 2][i], made[first + 3][i]);
    };
  };
  const auto advance = [&](int columns) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      made[0][i] = made[columns][i];
      made[1][i] = made[columns + 1][i];
    }
    x += columns;
  };
  const auto one_tile = [&]() __attribute__((always_inline)) {
    column(made[2], x + 2);
    column(made[3], x + 3);
    to.write(tile++, points_from(0));
    advance(kWinogradOut);
  };
  column(made[0], x);
  column(made[1], x + 1);
  if constexpr (kMost == 2) {
    if (!to.begins_unit(tile)) one_tile();
    while (tile + 1 < end) {
#pragma GCC unroll 4
      for (int k = 2; k < 6; ++k) column(made[k], x + k);
      to.write_two(tile, points_from(0), points_from(2));
      tile += 2;
      advance(2 * kWinogradOut);
    }
  }
  while (tile < end) one_tile();
}

// `read` is what happens to a pixel on the way.
template <SumsOver kOver, typename Lanes, typename Read>
THIMBLE_INLINE void transform_run(const ChosenMap& map, const TileRun& run, std::int64_t channel, Lanes lanes,
                                  const Read& read, const PointBlock<kOver>& to) {
  const MapRows<kWinogradIn> rows(map, run.image, run.row * kWinogradOut - 1, channel);
  const auto writer = to.at(channel - map.chosen.begin, lanes);
  const std::int64_t width = map.grid.width, step = map.channels;
  if (rows.row[0] != nullptr && rows.row[kWinogradIn - 1] != nullptr) {
    transform_columns(ColumnReader<true, Lanes, Read>{rows, width, step, lanes, read}, run, writer);
  } else {
    transform_columns(ColumnReader<false, Lanes, Read>{rows, width, step, lanes, read}, run, writer);
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
                               const PointBlock<kOver>& block) {
  const MapRows<kWinogradOut> rows(map, run.image, run.row * kWinogradOut, channel);
  const std::int64_t step = map.channels, width = map.grid.width, end = run.place + run.count;
  const auto to = block.at(channel - map.chosen.begin, lanes);
  using Made = Vec[kWinogradOut][4];
  const auto read = [&](Made & made, std::int64_t x) __attribute__((always_inline)) {
    const bool is_whole = x + 1 < width;
#pragma GCC unroll 2
    for (int i = 0; i < kWinogradOut; ++i) {
      const bool is_inside = rows.row[i] != nullptr;
      spread_gradient(made[i], is_inside ? load(rows.row[i] + x * step, lanes) : zero(),
                      is_inside && is_whole ? load(rows.row[i] + (x + 1) * step, lanes) : zero());
    }
  };
  // Points come row by row: the axes are exchanged.
  const auto points_of = [](const Made& made) __attribute__((always_inline)) {
    return [&made](Vec(&points)[4], int i) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        Vec spread[4];
        spread_gradient(spread, made[0][j], made[1][j]);
        points[j] = spread[i];
      }
    };
  };
  std::int64_t x = run.column * kWinogradOut, tile = run.place;
  Made made[2];
  const auto one_tile = [&]() __attribute__((always_inline)) {
    read(made[0], x);
    to.write(tile++, points_of(made[0]));
    x += kWinogradOut;
  };
  if constexpr (to.kJoinsTiles) {
    if (!to.begins_unit(tile)) one_tile();
    for (; tile + 1 < end; tile += 2, x += 2 * kWinogradOut) {
      read(made[0], x);
      read(made[1], x + kWinogradOut);
      to.write_two(tile, points_of(made[0]), points_of(made[1]));
    }
  }
  while (tile < end) one_tile();
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
