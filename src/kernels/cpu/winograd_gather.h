// Convolution, or the gradient of its input, by tiles of 2x2 outputs: both are a gather of a source with 3x3 weights,
// the latter with the weights transposed and turned round. A block of tiles is transformed once for a group of columns;
// weights are transformed for that group alone, so that only part of them exists at once.
#pragma once

#include "kernels/cpu/conv_gather.h"
#include "kernels/cpu/winograd_shape.h"
#include "kernels/cpu/winograd_tiles.h"

namespace thimble::kernels::THIMBLE_ISA {

// Sizes do not depend on the instruction set: which convolutions are served must not either.
constexpr std::int64_t kGatherTiles = 42;  // in a block: whole tiles of registers, and enough to use weights well
constexpr std::int64_t kFewGatherTiles = 14;
constexpr Bytes kGatherSourceBytes = 256 * kKiB;  // of transformed source: well inside a core's second-level cache
constexpr Bytes kGatherWeightBytes = 512 * kKiB;  // of transformed weights held at once, unless one group is larger
constexpr std::int64_t kGatherColumns = 32;       // the least group

struct WinogradPlan {
  WinogradGrid grid;
  std::int64_t source_channels = 0, out_channels = 0;
  bool is_backward = false;
  SourceNorm norm;
  bool is_small = false;  // smaller pieces, for maps beside which the workspace would weigh

  PointLayout source() const {
    if (is_small) return {smaller(kFewGatherTiles, grid.count()), round_up(source_channels, 16)};
    const std::int64_t row = round_up(source_channels, 16), most = kGatherSourceBytes / 4 / kWinogradPoints / row;
    const std::int64_t tiles = smaller(kGatherTiles, most / kFewGatherTiles * kFewGatherTiles);
    return {smaller(larger(tiles, kFewGatherTiles), grid.count()), row};
  }
  PointLayout sums() const { return {source().tiles, kGatherColumns}; }

  // Columns of the output that are worked on at once.
  std::int64_t group_columns() const {
    if (is_small) return kGatherColumns;
    const Bytes least = kWinogradPoints * source_channels * kGatherColumns * 4;
    return smaller(round_up(out_channels, kGatherColumns), larger(1, kGatherWeightBytes / least) * kGatherColumns);
  }
  std::int64_t panel_elements() const { return kWinogradPoints * source_channels * kTileColumns; }
  std::int64_t group_panels() const { return group_columns() / kTileColumns; }
  std::int64_t panel_count() const { return divide_up(out_channels, kTileColumns); }
  std::int64_t panel_columns(std::int64_t panel) const {
    return smaller(kTileColumns, out_channels - panel * kTileColumns);
  }
  std::int64_t buffer_elements() const { return source().elements() + sums().elements() + norm.elements(); }
};

struct WinogradWork {
  float* weights = nullptr;  // (group_panels, 16, source_channels, kTileColumns)
  float* buffers = nullptr;  // (threads, buffer_elements)
  Bytes bytes = 0;
};

inline WinogradWork carve_winograd(const WinogradPlan& plan, int threads, std::byte* base) {
  Carver carver(base);
  WinogradWork work;
  work.weights = carver.take<float>(plan.group_panels() * plan.panel_elements());
  work.buffers = carver.take<float>(threads * plan.buffer_elements());
  work.bytes = carver.used();
  return work;
}

inline WinogradPlan plan_winograd(const ConvShape& s, bool is_backward, const SourceNorm& norm = {}) {
  WinogradPlan plan = {.grid = {s.batch, s.height, s.width},
                       .source_channels = is_backward ? s.out_channels : s.channels,
                       .out_channels = is_backward ? s.channels : s.out_channels,
                       .is_backward = is_backward,
                       .norm = norm};
  plan.is_small = is_large_workspace(s, carve_winograd(plan, kWinogradThreads, nullptr).bytes, kUsualPart);
  return plan;
}

// Weights of some source channels for one panel, tap by tap.
struct TapRows {
  const float* data = nullptr;
  std::int64_t tap = 0, row = 0;  // strides
};

// G w G^T for one source channel.
inline void transform_weight_row(const TapRows& taps, std::int64_t columns, float* to, std::int64_t point) noexcept {
  each_vector(0, columns, [&](std::int64_t n, auto lanes) {
    Vec made[kWinogradTaps][4];
#pragma GCC unroll 3
    for (int i = 0; i < kWinogradTaps; ++i) {
      const float* w = taps.data + i * kWinogradTaps * taps.tap + n;
      transform_weights(made[i], load(w, lanes), load(w + taps.tap, lanes), load(w + 2 * taps.tap, lanes));
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      Vec points[4];
      transform_weights(points, made[0][j], made[1][j], made[2][j]);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) store(to + (4 * i + j) * point + n, points[i], lanes);
    }
  });
}

// Some source channels of one panel. Backward they are copied first: the tap is the last one's mirror image, and
// channels lie the other way round.
inline void transform_panel(const WinogradPlan& plan, const float* w, std::int64_t panel, Range channels,
                            float* to) noexcept {
  const std::int64_t columns = plan.panel_columns(panel), first = panel * kTileColumns;
  const std::int64_t count = channels.end - channels.begin, point = plan.source_channels * kTileColumns;
  alignas(64) float turned[kWinogradTaps * kWinogradTaps * kLanes * kTileColumns];
  TapRows taps = {w + channels.begin * plan.out_channels + first, plan.source_channels * plan.out_channels,
                  plan.out_channels};
  if (plan.is_backward) {
    taps = {turned, kLanes * kTileColumns, kTileColumns};
    constexpr int kLast = kWinogradTaps * kWinogradTaps - 1;
    for (int tap = 0; tap <= kLast; ++tap) {
      const float* from = w + (tap * plan.out_channels + first) * plan.source_channels + channels.begin;
      transpose_to_units(turned + (kLast - tap) * taps.tap, taps.row, from, plan.source_channels, columns, count);
    }
  }
  to += channels.begin * kTileColumns;
  for (std::int64_t c = 0; c < count; ++c, taps.data += taps.row, to += kTileColumns) {
    transform_weight_row(taps, columns, to, point);
  }
}

inline void transform_panels(const WinogradPlan& plan, const Call& call, Range panels, float* to) noexcept {
  const std::int64_t pieces = divide_up(plan.source_channels, kLanes);
  parallel_for(call.threads, (panels.end - panels.begin) * pieces, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t panel = unit / pieces, channel = unit % pieces * kLanes;
      transform_panel(plan, call.in[1].as<const float>(), panels.begin + panel,
                      {channel, smaller(channel + kLanes, plan.source_channels)}, to + panel * plan.panel_elements());
    }
  });
}

// A^T m A and what a sum still needs, for one vector of columns of a run, to the pixels that lie inside the map.
template <typename Lanes>
THIMBLE_INLINE void finish_run(const WinogradPlan& plan, const TensorView& out, const Ending& ending,
                               const TileRun& run, std::int64_t column, Lanes lanes, const float* sums,
                               const PointLayout& layout) {
  const WinogradGrid& grid = plan.grid;
  const std::int64_t point = layout.point(), y = run.row * kWinogradOut;
  const bool has_bias = ending.bias != nullptr, has_addend = ending.addend != nullptr;
  const Vec bias = has_bias ? load(ending.bias->as<const float>() + column, lanes) : zero();
  std::int64_t x = run.column * kWinogradOut;
  for (std::int64_t tile = 0; tile < run.count; ++tile, x += kWinogradOut, sums += layout.row) {
    Vec made[4][2];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      gather_outputs(made[j], load(sums + j * point), load(sums + (4 + j) * point), load(sums + (8 + j) * point),
                     load(sums + (12 + j) * point));
    }
#pragma GCC unroll 2
    for (int i = 0; i < kWinogradOut; ++i) {
      if (y + i >= grid.height) break;
      Vec outs[2];
      gather_outputs(outs, made[0][i], made[1][i], made[2][i], made[3][i]);
#pragma GCC unroll 2
      for (int j = 0; j < kWinogradOut; ++j) {
        if (x + j >= grid.width) break;
        const std::int64_t place = grid.pixel(run.image, y + i, x + j) * plan.out_channels + column;
        Vec sum = has_bias ? add(outs[j], bias) : outs[j];
        if (has_addend) sum = add(load(ending.addend->as<const float>() + place, lanes), sum);
        store(out.as<float>() + place, activate(ending.activation, sum), lanes);
      }
    }
  }
}

// One panel of a block of tiles whose source is transformed.
inline void gather_tiles(const WinogradPlan& plan, const GatherCall& what, Range tiles, std::int64_t panel,
                         const float* source, const float* weights, float* sums) noexcept {
  const PointLayout from = plan.source(), to = plan.sums();
  const std::int64_t columns = plan.panel_columns(panel), first = panel * kTileColumns;
  TileWork t;
  t.a_row = from.row;
  t.count = plan.source_channels;
  t.b_next = kTileColumns;
  t.c_row = to.row;
  for (int point = 0; point < kWinogradPoints; ++point) {
    t.a = source + point * from.point();
    t.b = weights + point * plan.source_channels * kTileColumns;
    t.c = sums + point * to.point();
    run_tiles<float, false>(t, tiles.end - tiles.begin, columns);
  }
  for_runs(plan.grid, tiles, [&](const TileRun& run) {
    each_vector(0, columns, [&](std::int64_t n, auto lanes) {
      finish_run(plan, what.call.out[0], what.ending, run, first + n, lanes, sums + run.place * to.row + n, to);
    });
  });
}

// All tiles of one thread for a group of panels.
inline void gather_group(const WinogradPlan& plan, const GatherCall& what, Range tiles, Range panels,
                         const float* weights, float* buffer) noexcept {
  const PointLayout layout = plan.source();
  float *source = buffer, *sums = source + layout.elements();
  BandNorm norm(plan.norm, what.norm, sums + plan.sums().elements());
  const ChosenMap map = {plan.grid, what.call.in[0].as<const float>(), plan.source_channels, {0, plan.source_channels}};
  for (std::int64_t first = tiles.begin; first < tiles.end; first += layout.tiles) {
    const Range block = {first, smaller(first + layout.tiles, tiles.end)};
    transform_tiles(map, block, norm, source, layout);
    for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
      gather_tiles(plan, what, block, panel, source, weights + (panel - panels.begin) * plan.panel_elements(), sums);
    }
  }
}

inline void run_winograd(const WinogradPlan& plan, const GatherCall& what) noexcept {
  const Call& call = what.call;
  const WinogradWork work = carve_winograd(plan, call.threads, call.workspace);
  const std::int64_t panels = plan.panel_count(), step = plan.group_panels();
  for (std::int64_t first = 0; first < panels; first += step) {
    const Range group = {first, smaller(first + step, panels)};
    transform_panels(plan, call, group, work.weights);
    parallel(call.threads, [&](int thread, int threads) {
      gather_group(plan, what, part_of(plan.grid.count(), thread, threads), group, work.weights,
                   work.buffers + thread * plan.buffer_elements());
    });
  }
}

}  // namespace thimble::kernels::THIMBLE_ISA
