// Products of transformed x and dy over all tiles, point by point, for the gradient of a convolution's weights; what
// they sum to is brought back to taps at the end. A thread sums a part of the gradient after the other, each over all
// its tiles, so that few sums exist at once.
#pragma once

#include "kernels/cpu/conv_weight_call.h"
#include "kernels/cpu/winograd_weight_plan.h"

namespace thimble::kernels::THIMBLE_ISA {

// A thread's memory.
struct WinogradBuffers {
  Unit *source = nullptr, *gradient = nullptr;
  float *sums = nullptr, *norm = nullptr;

  WinogradBuffers(const WinogradWeightPlan& plan, std::byte* workspace, int thread)
      : source(reinterpret_cast<Unit*>(workspace) + thread * plan.buffer_elements()),
        gradient(source + plan.source().elements()),
        sums(reinterpret_cast<float*>(gradient + plan.gradient().elements())),
        norm(sums + plan.sums().elements()) {}
};

// Channels x columns of the gradient.
struct WeightChunk {
  Range channels, columns;

  std::int64_t height() const { return channels.end - channels.begin; }
  std::int64_t width() const { return columns.end - columns.begin; }
};

// sums (+)= source^T gradient for one block of tiles, both transformed.
inline void add_points(const WinogradWeightPlan& plan, const WinogradBuffers& buffers, const WeightChunk& chunk,
                       std::int64_t tiles, bool adds, std::span<FetchQueue> ahead) noexcept {
  const PointLayout source = plan.source(), gradient = plan.gradient(), sums = plan.sums();
  TileWork t;
  t.a_row = 1;
  t.a_next = source.row;
  t.b_next = gradient.row;
  t.c_row = sums.row;
  t.count = units_of(tiles);
  t.adds = adds;
  for (int point = 0; point < kWinogradPoints; ++point) {
    t.a = buffers.source + point * source.point();
    for (std::int64_t column = 0; column < chunk.width(); column += kTileColumns) {
      t.b = buffers.gradient + point * gradient.point() + column;
      t.c = buffers.sums + point * sums.point() + column;
      run_tiles<Unit, true>(t, chunk.height(), smaller(kTileColumns, chunk.width() - column), ahead);
    }
  }
}

inline void sum_chunk(const WinogradWeightPlan& plan, const WeightCall& call, const WinogradBuffers& buffers,
                      const WeightChunk& chunk, Range tiles) noexcept {
  BandNorm norm(plan.norm, call.norm, buffers.norm);
  const ChosenMap x = {plan.grid, call.x.as<const UnitElement>(), plan.channels, chunk.channels};
  const ChosenMap dy = {plan.grid, call.dy.as<const UnitElement>(), plan.columns, chunk.columns};
  const std::int64_t step = plan.block_tiles();
  for (std::int64_t first = tiles.begin; first < tiles.end; first += step) {
    const Range block = {first, smaller(first + step, tiles.end)};
    const std::int64_t count = block.end - block.begin;
    transform_tiles(x, block, norm, PointBlock<SumsOver::tiles>{buffers.source, plan.source(), count});
    spread_tiles(dy, block, PointBlock<SumsOver::tiles>{buffers.gradient, plan.gradient(), count});
    const Range next = {block.end, smaller(block.end + step, tiles.end)};
    FetchQueue ahead[] = {pixels_ahead(x, block, next, kWinogradIn - 1), pixels_ahead(dy, block, next, kWinogradOut)};
    add_points(plan, buffers, chunk, count, first > tiles.begin, ahead);
  }
}

// G^T p G to the output, for some channels of a chunk; p is the sum of what `parts` threads summed, in their order.
inline void finish_chunk(const WinogradWeightPlan& plan, const WeightCall& call, const float* sums, int parts,
                         const WeightChunk& chunk, Range channels) noexcept {
  const PointLayout layout = plan.sums();
  const std::int64_t point = layout.point();
  constexpr int kTaps = kWinogradTaps * kWinogradTaps;
  alignas(64) float taps[kTaps][kMostColumns];
  const auto place_of = [&](std::int64_t channel, int tap) {
    return (tap * plan.channels + chunk.channels.begin + channel) * plan.columns + chunk.columns.begin;
  };
  for (std::int64_t channel = channels.begin; channel < channels.end; ++channel) {
    if (channel + 1 < channels.end) {
      for (int tap = 0; tap < kTaps; ++tap) call.update.fetch(place_of(channel + 1, tap), chunk.width());
    }
    each_vector(0, chunk.width(), [&](std::int64_t n, auto lanes) {
      const float* from = sums + channel * layout.row + n;
      const auto total = [&](int index) {
        Vec sum = load(from + index * point, lanes);
        for (int k = 1; k < parts; ++k) sum = add(sum, load(from + k * plan.buffer_elements() + index * point, lanes));
        return sum;
      };
      Vec made[4][kWinogradTaps];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) gather_weights(made[j], total(j), total(4 + j), total(8 + j), total(12 + j));
#pragma GCC unroll 3
      for (int i = 0; i < kWinogradTaps; ++i) {
        Vec row[kWinogradTaps];
        gather_weights(row, made[0][i], made[1][i], made[2][i], made[3][i]);
        for (int j = 0; j < kWinogradTaps; ++j) store(taps[i * kWinogradTaps + j] + n, row[j], lanes);
      }
    });
    for (int tap = 0; tap < kTaps; ++tap) finish_sums(call, taps[tap], 1, 0, place_of(channel, tap), chunk.width());
  }
}

// Calls body(chunk) for the chunks of one thread's part of the gradient.
template <typename Body>
void for_chunks(const WinogradWeightPlan& plan, Range channels, Range columns, Body&& body) {
  const std::int64_t height = plan.chunk_channels(), width = plan.chunk_columns();
  for (std::int64_t column = columns.begin; column < columns.end; column += width) {
    for (std::int64_t channel = channels.begin; channel < channels.end; channel += height) {
      body(WeightChunk{{channel, smaller(channel + height, channels.end)},
                       {column, smaller(column + width, columns.end)}});
    }
  }
}

}  // namespace thimble::kernels::THIMBLE_ISA
