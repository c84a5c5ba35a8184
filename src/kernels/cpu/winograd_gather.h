// Convolution, or the gradient of its input, by tiles of 2x2 outputs: both are a gather of a source with 3x3 weights,
// the latter with the weights transposed and turned round. A block of tiles is transformed once for a group of columns;
// weights are transformed for that group alone, so that only part of them exists at once.
#pragma once

#include "kernels/cpu/conv_gather.h"
#include "kernels/cpu/winograd_products.h"
#include "kernels/cpu/winograd_shape.h"
#include "kernels/cpu/winograd_tiles.h"

namespace thimble::kernels::THIMBLE_ISA {

// Sizes do not depend on the instruction set: which convolutions are served must not either.
constexpr std::int64_t kGatherTiles = 42;  // in a block: whole tiles of registers, and enough to use weights well
constexpr std::int64_t kFewGatherTiles = 14, kFewestGatherTiles = 7;
constexpr Bytes kGatherSourceBytes = 256 * kKiB;  // of transformed source: well inside a core's second-level cache
constexpr Bytes kGatherWeightBytes = 512 * kKiB;  // of transformed weights held at once, unless one group is larger
constexpr std::int64_t kGatherColumns = 32;       // the least group

struct WinogradPlan {
  WinogradGrid grid;
  std::int64_t source_channels = 0, out_channels = 0;
  bool is_backward = false;
  SourceNorm norm;
  OutMoments moments = {};
  bool is_small = false;  // smaller pieces, for maps beside which the workspace would weigh
  std::int64_t small_columns = kGatherColumns, small_tiles = kFewGatherTiles;  // then worked on at once

  std::int64_t depth() const { return units_of(source_channels); }
  PointLayout source() const {
    const std::int64_t row = round_up(depth(), 16), most = kGatherSourceBytes / 4 / kWinogradPoints / row;
    if (is_small) return {smaller(small_tiles, grid.count()), row, kPointsTogether};
    const std::int64_t tiles = smaller(kGatherTiles, most / kFewGatherTiles * kFewGatherTiles);
    return {smaller(larger(tiles, kFewGatherTiles), grid.count()), row, kPointsTogether};
  }
  SumLayout sums() const { return {source().rows, kGatherColumns}; }

  // Columns of the output that are worked on at once.
  std::int64_t group_columns() const {
    if (is_small) return small_columns;
    const Bytes least = kWinogradPoints * depth() * kGatherColumns * 4;
    return smaller(round_up(out_channels, kGatherColumns), larger(1, kGatherWeightBytes / least) * kGatherColumns);
  }
  std::int64_t panel_elements() const { return kWinogradPoints * depth() * kTileColumns; }
  std::int64_t group_panels() const { return group_columns() / kTileColumns; }
  std::int64_t panel_count() const { return divide_up(out_channels, kTileColumns); }
  std::int64_t panel_columns(std::int64_t panel) const {
    return smaller(kTileColumns, out_channels - panel * kTileColumns);
  }
  GatherBuffer buffer() const { return {source().elements() + sums().elements(), norm, moments}; }
};

struct WinogradWork {
  Unit* weights = nullptr;   // (group_panels, WeightLayout)
  float* buffers = nullptr;  // (threads, buffer)
  Bytes bytes = 0;
};

inline WinogradWork carve_winograd(const WinogradPlan& plan, int threads, std::byte* base) {
  Carver carver(base);
  WinogradWork work;
  work.weights = carver.take<Unit>(plan.group_panels() * plan.panel_elements());
  work.buffers = carver.take<float>(threads * plan.buffer().elements());
  work.bytes = carver.used();
  return work;
}

inline WinogradPlan plan_winograd(const ConvShape& s, bool is_backward, const SourceNorm& norm = {}) {
  WinogradPlan plan = {.grid = {s.batch, s.height, s.width},
                       .source_channels = is_backward ? s.out_channels : s.channels,
                       .out_channels = is_backward ? s.channels : s.out_channels,
                       .is_backward = is_backward,
                       .norm = norm};
  const auto is_large = [&](std::int64_t part = kUsualPart) {
    return is_large_workspace(s, carve_winograd(plan, kWinogradThreads, nullptr).bytes, part);
  };
  if (!is_large()) return plan;
  if (kHasPairs) plan.small_columns = plan.group_columns();  // transforms weigh more where products are fast
  plan.is_small = true;
  while (plan.small_columns > kGatherColumns && is_large())
    plan.small_columns = round_up(divide_up(plan.small_columns, 2), kGatherColumns);
  if (is_large(kLargestPart)) plan.small_tiles = kFewestGatherTiles;
  return plan;
}

// Weights of some source channels for one panel, tap by tap.
template <typename W>
struct TapRows {
  const W* data = nullptr;
  std::int64_t tap = 0, row = 0;  // strides
};

// G w G^T for the source channels of one unit, of which `channels` exist.
template <typename W>
void transform_weight_row(const TapRows<W>& taps, std::int64_t channels, std::int64_t columns, Unit* to,
                          const WeightLayout& layout) noexcept {
  each_vector(0, columns, [&](std::int64_t n, auto lanes) {
    Vec made[kUnitElements][kWinogradTaps][4] = {};
#pragma GCC unroll 2
    for (int c = 0; c < kUnitElements; ++c) {
      if (c == channels) break;
#pragma GCC unroll 3
      for (int i = 0; i < kWinogradTaps; ++i) {
        const W* w = taps.data + c * taps.row + i * kWinogradTaps * taps.tap + n;
        transform_weights(made[c][i], load(w, lanes), load(w + taps.tap, lanes), load(w + 2 * taps.tap, lanes));
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      Vec points[kUnitElements][4];
#pragma GCC unroll 2
      for (int c = 0; c < kUnitElements; ++c) transform_weights(points[c], made[c][0][j], made[c][1][j], made[c][2][j]);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        store(to + layout.point(i, j) + n, join(points[0][i], points[kUnitElements - 1][i]), lanes);
    }
  });
}

// to[j, i] = from[i, j], of at most kLanes columns.
template <typename W>
void transpose_to_f32(float* to, std::int64_t to_row, const W* from, std::int64_t from_row, std::int64_t rows,
                      std::int64_t columns) noexcept {
  for (std::int64_t i = 0; i < rows; i += kLanes) {
    const auto row_lanes = static_cast<int>(smaller(kLanes, rows - i));
    Vec block[kLanes];
#pragma GCC unroll 16
    for (int k = 0; k < kLanes; ++k)
      block[k] = k < row_lanes ? load_first(from + (i + k) * from_row, static_cast<int>(columns)) : zero();
    transpose(block);
#pragma GCC unroll 16
    for (int k = 0; k < kLanes; ++k) {
      if (k < columns) store_first(to + k * to_row + i, block[k], row_lanes);
    }
  }
}

template <typename W>
void transform_weight_rows(TapRows<W> taps, std::int64_t channels, std::int64_t columns, Unit* to,
                           const WeightLayout& layout) noexcept {
  for (std::int64_t c = 0; c < channels; c += kUnitElements, to += layout.unit()) {
    transform_weight_row(taps, smaller(kUnitElements, channels - c), columns, to, layout);
    taps.data += kUnitElements * taps.row;
  }
}

// Some source channels of one panel, from a whole unit on. Backward they are copied first: the tap is the last one's
// mirror image, and channels lie the other way round.
template <typename W>
void transform_panel(const WinogradPlan& plan, const W* w, std::int64_t panel, Range channels, Unit* to) noexcept {
  const std::int64_t columns = plan.panel_columns(panel), first = panel * kTileColumns;
  const std::int64_t count = channels.end - channels.begin;
  const WeightLayout layout = {plan.depth()};
  to += channels.begin / kUnitElements * layout.unit();
  if (!plan.is_backward) {
    const TapRows<W> taps = {w + channels.begin * plan.out_channels + first, plan.source_channels * plan.out_channels,
                             plan.out_channels};
    return transform_weight_rows(taps, count, columns, to, layout);
  }
  alignas(64) float turned[kWinogradTaps * kWinogradTaps * kLanes * kTileColumns];
  const TapRows<float> taps = {turned, kLanes * kTileColumns, kTileColumns};
  constexpr int kLast = kWinogradTaps * kWinogradTaps - 1;
  for (int tap = 0; tap <= kLast; ++tap) {
    const W* from = w + (tap * plan.out_channels + first) * plan.source_channels + channels.begin;
    transpose_to_f32(turned + (kLast - tap) * taps.tap, taps.row, from, plan.source_channels, columns, count);
  }
  transform_weight_rows(taps, count, columns, to, layout);
}

template <typename W>
void transform_panels(const WinogradPlan& plan, const Call& call, Range panels, Unit* to) noexcept {
  const std::int64_t pieces = divide_up(plan.source_channels, kLanes);
  parallel_for(call.threads, (panels.end - panels.begin) * pieces, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t panel = unit / pieces, channel = unit % pieces * kLanes;
      transform_panel(plan, call.in[1].as<const W>(), panels.begin + panel,
                      {channel, smaller(channel + kLanes, plan.source_channels)}, to + panel * plan.panel_elements());
    }
  });
}

// Rows of an output that a tile writes, from one column on; null outside, or all where there is no such tensor.
template <typename T>
struct TileRows {
  T* row[kWinogradOut] = {};

  TileRows(const WinogradPlan& plan, const TileRun& run, std::int64_t column, T* data) {
    for (int i = 0; data != nullptr && i < kWinogradOut; ++i) {
      const std::int64_t y = run.row * kWinogradOut + i;
      if (y < plan.grid.height)
        row[i] = data + plan.grid.pixel(run.image, y, run.column * kWinogradOut) * plan.out_channels + column;
    }
  }
};

// A^T m A and what a sum still needs, for one vector of columns of a run, to the pixels that lie inside the map.
template <typename Lanes>
THIMBLE_INLINE void finish_run(const WinogradPlan& plan, const TensorView& out, const Ending& ending,
                               const TileRun& run, std::int64_t column, Lanes lanes, const float* sums,
                               const SumLayout& layout) {
  const std::int64_t step = plan.out_channels;
  const bool has_bias = ending.bias != nullptr, has_addend = ending.addend != nullptr;
  const Activation activation = ending.activation;
  const PieceMoments* moments = ending.moments;
  VectorMoments<Lanes> watched = {column, lanes};
  Vec bias = zero();
  if (has_bias) {
    with_element(ending.bias->dtype,
                 [&](auto element) { bias = load(ending.bias->as<const decltype(element)>() + column, lanes); });
  }
  TileRows<UnitElement> to(plan, run, column, out.as<UnitElement>());
  TileRows<const UnitElement> addend(plan, run, column, has_addend ? ending.addend->as<const UnitElement>() : nullptr);
  const std::int64_t width = plan.grid.width - run.column * kWinogradOut;  // of what lies from the run on
  for (std::int64_t tile = 0; tile < run.count; ++tile, sums += layout.row) {
    Vec made[kSumsOfRow][2];
#pragma GCC unroll 4
    for (int j = 0; j < kSumsOfRow; ++j) {
      const auto row = [&](int i) { return load(sums + (i * kSumsOfRow + j) * layout.point()); };
      gather_outputs(made[j], row(0), row(1), row(2), row(3));
    }
    const bool is_whole = tile * kWinogradOut + 1 < width;
#pragma GCC unroll 2
    for (int i = 0; i < kWinogradOut; ++i) {
      if (to.row[i] == nullptr) break;
      Vec outs[2];
      end_row(outs, made, i);
#pragma GCC unroll 2
      for (int j = 0; j < kWinogradOut; ++j) {
        if (j > 0 && !is_whole) break;
        Vec sum = has_bias ? add(outs[j], bias) : outs[j];
        if (has_addend) sum = add(load(addend.row[i] + j * step, lanes), sum);
        sum = activate(activation, sum);
        store(to.row[i] + j * step, sum, lanes);
        if (moments != nullptr) watched.take(*moments, sum, to.row[i] + j * step);
      }
      to.row[i] += kWinogradOut * step;
      if (has_addend) addend.row[i] += kWinogradOut * step;
    }
  }
  if (moments != nullptr) watched.close(*moments);
}

// What a run ends in comes from afar while its products are made.
inline void fetch_outputs(const WinogradPlan& plan, const TensorView& out, const TileRun& run, std::int64_t column) {
  const TileRows<UnitElement> to(plan, run, column, out.as<UnitElement>());
  const std::int64_t pixels = smaller(run.count * kWinogradOut, plan.grid.width - run.column * kWinogradOut);
  for (UnitElement* row : to.row) {
    for (std::int64_t k = 0; row != nullptr && k < pixels; ++k, row += plan.out_channels) __builtin_prefetch(row, 1);
  }
}

// One panel of a block of tiles whose source is transformed.
inline void gather_tiles(const WinogradPlan& plan, const TensorView& out, const Ending& ending, Range tiles,
                         std::int64_t panel, const Unit* source, const Unit* weights, float* sums,
                         FetchQueue& ahead) noexcept {
  const SumLayout to = plan.sums();
  const std::int64_t columns = plan.panel_columns(panel), first = panel * kTileColumns;
  for_runs(plan.grid, tiles, [&](const TileRun& run) { fetch_outputs(plan, out, run, first); });
  multiply_points({source, plan.source(), weights, {plan.depth()}, sums, to}, tiles.end - tiles.begin, columns, ahead);
  for_runs(plan.grid, tiles, [&](const TileRun& run) {
    each_vector(0, columns, [&](std::int64_t n, auto lanes) {
      finish_run(plan, out, ending, run, first + n, lanes, sums + run.place * to.row + n, to);
    });
  });
}

// The tiles that fall to one thread, for a group of panels.
inline void gather_group(const WinogradPlan& plan, const GatherCall& what, Shares& shares, int thread, Range panels,
                         const Unit* weights, float* buffer) noexcept {
  const PointLayout layout = plan.source();
  auto* source = reinterpret_cast<Unit*>(buffer);
  float* sums = buffer + layout.elements();
  BandNorm norm = plan.buffer().norm_in(buffer, what.norm);
  const PieceMoments moments = plan.buffer().moments_in(buffer);
  Ending ending = what.ending;
  if (plan.moments.exists()) ending.moments = &moments;
  const ChosenMap map = {
      plan.grid, what.call.in[0].as<const UnitElement>(), plan.source_channels, {0, plan.source_channels}};
  shares.take(thread, [&](Range tiles) {
    for (std::int64_t first = tiles.begin; first < tiles.end; first += layout.rows) {
      const Range block = {first, smaller(first + layout.rows, tiles.end)};
      transform_tiles(map, block, norm, PointBlock<SumsOver::channels>{source, layout, block.end - block.begin});
      FetchQueue ahead =
          pixels_ahead(map, block, {block.end, smaller(block.end + layout.rows, tiles.end)}, kWinogradIn - 1);
      for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
        gather_tiles(plan, what.call.out[0], ending, block, panel, source,
                     weights + (panel - panels.begin) * plan.panel_elements(), sums, ahead);
      }
    }
  });
}

inline void run_winograd(const WinogradPlan& plan, const GatherCall& what) noexcept {
  const Call& call = what.call;
  const WinogradWork work = carve_winograd(plan, call.threads, call.workspace);
  const std::int64_t panels = plan.panel_count(), step = plan.group_panels();
  const ThreadMoments moments = plan.buffer().all_moments(work.buffers, call.threads);
  moments.clear();
  for (std::int64_t first = 0; first < panels; first += step) {
    const Range group = {first, smaller(first + step, panels)};
    with_element(call.in[1].dtype,
                 [&](auto element) { transform_panels<decltype(element)>(plan, call, group, work.weights); });
    Shares shares(plan.grid.count(), call.threads, plan.source().rows, plan.moments.exists());
    parallel(call.threads, [&](int thread, int) {
      gather_group(plan, what, shares, thread, group, work.weights, work.buffers + thread * plan.buffer().elements());
    });
  }
  moments.store_to(call.out);
}

}  // namespace thimble::kernels::THIMBLE_ISA
