// How the gradient of a convolution's weights is cut up where it is summed point by point over Winograd's tiles: which
// thread sums which part of it, and how much of the sums and of the transformed tiles exists at once.
#pragma once

#include "kernels/cpu/conv_weight_plan.h"
#include "kernels/cpu/winograd_tiles.h"

namespace thimble::kernels::THIMBLE_ISA {

// Sizes do not depend on the instruction set: which convolutions are served must not either.
constexpr std::int64_t kGradientTiles = 32;  // in a block: fetching and storing the sums should cost little
constexpr std::int64_t kFewGradientTiles = 16;
constexpr std::int64_t kSummedSide = 64;  // channels and columns that a thread sums at once, at most
constexpr std::int64_t kShortSide = 32;

struct WinogradWeightPlan {
  WinogradGrid grid;
  std::int64_t channels = 0, columns = 0;  // of the source and of the output's gradient
  SourceNorm norm;
  int tile_parts = 1;     // threads that share out the tiles: each sums the whole gradient
  ThreadGrid parts;       // else they share out channels x columns
  bool is_small = false;  // smaller pieces, for maps beside which the workspace would weigh

  int threads() const { return tile_parts * parts.rows * parts.columns; }
  // The largest part of a thread, and what it sums at once.
  std::int64_t chunk_channels() const { return chunk_of(channels, parts.rows); }
  std::int64_t chunk_columns() const { return chunk_of(columns, parts.columns); }
  PointLayout source() const { return {block_tiles(), round_up(chunk_channels(), 16)}; }
  PointLayout gradient() const { return {block_tiles(), round_up(chunk_columns(), 16)}; }
  std::int64_t block_tiles() const { return smaller(is_small ? kFewGradientTiles : kGradientTiles, grid.count()); }
  // Sums (16, chunk_channels, chunk_columns).
  PointLayout sums() const { return {chunk_channels(), round_up(chunk_columns(), 16)}; }
  std::int64_t buffer_elements() const {
    return source().elements() + gradient().elements() + sums().elements() + norm.elements();
  }

  // Part `part` of `parts` of `count` channels, in whole units.
  static Range part(std::int64_t count, int part, int parts) {
    const Range units = part_of(divide_up(count, kUnit), part, parts);
    return {smaller(count, units.begin * kUnit), smaller(count, units.end * kUnit)};
  }
  std::int64_t chunk_of(std::int64_t count, int part_count) const {
    const std::int64_t side = is_small ? kShortSide : kSummedSide;
    return smaller(count, smaller(side, divide_up(divide_up(count, kUnit), part_count) * kUnit));
  }

  static constexpr std::int64_t kUnit = 32;
};

// Small gradients are summed by every thread over its share of the tiles and added up in order of the threads, as the
// direct kernels do.
inline WinogradWeightPlan plan_winograd_weights(const ConvShape& s, int threads, const SourceNorm& norm) {
  WinogradWeightPlan plan;
  plan.grid = {s.batch, s.height, s.width};
  plan.channels = s.channels;
  plan.columns = s.out_channels;
  plan.norm = norm;
  if (s.taps() * s.channels * s.out_channels * 4 <= kPartialBytes) {
    plan.tile_parts = static_cast<int>(smaller(threads, plan.grid.count()));
  } else {
    plan.parts = choose_grid(divide_up(s.channels, WinogradWeightPlan::kUnit),
                             divide_up(s.out_channels, WinogradWeightPlan::kUnit), threads);
  }
  return plan;
}

}  // namespace thimble::kernels::THIMBLE_ISA
