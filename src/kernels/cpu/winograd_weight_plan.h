// How the gradient of a convolution's weights is cut up where it is summed point by point over Winograd's tiles: which
// thread sums which part of it, and how much of the sums and of the transformed tiles exists at once.
#pragma once

#include "kernels/cpu/conv_weight_plan.h"
#include "kernels/cpu/winograd_tiles.h"

namespace thimble::kernels::THIMBLE_ISA {

// How much exists at once: tiles of a block, so many that fetching and storing the sums costs little, and channels and
// columns that a thread sums over all its blocks.
struct GradientPieces {
  std::int64_t tiles = 0, channels = 0, columns = 0;
};
// Largest first. What is served depends on types and shapes alone, so those of f32 do not depend on the instruction
// set. Where products are of pairs, smaller pieces would spend more time on transforms than they save.
#if defined(THIMBLE_ISA_AVX512_BF16)
constexpr GradientPieces kGradientPieces[] = {{128, 64, 128}, {64, 64, 128}, {32, 64, 128}, {64, 64, 64}, {32, 64, 64}};
#else
constexpr GradientPieces kGradientPieces[] = {{32, 64, 64}, {16, 32, 32}};
#endif

constexpr std::int64_t kMostColumns = kGradientPieces[0].columns;

struct WinogradWeightPlan {
  WinogradGrid grid;
  std::int64_t channels = 0, columns = 0;  // of the source and of the output's gradient
  SourceNorm norm;
  int tile_parts = 1;  // threads that share out the tiles: each sums the whole gradient
  ThreadGrid parts;    // else they share out channels x columns
  GradientPieces pieces;

  int threads() const { return tile_parts * parts.rows * parts.columns; }
  // The largest part of a thread, and what it sums at once.
  std::int64_t chunk_channels() const { return chunk_of(channels, parts.rows, pieces.channels); }
  std::int64_t chunk_columns() const { return chunk_of(columns, parts.columns, pieces.columns); }
  PointLayout source() const { return {units_of(block_tiles()), round_up(chunk_channels(), 16)}; }
  PointLayout gradient() const { return {units_of(block_tiles()), round_up(chunk_columns(), 16)}; }
  std::int64_t block_tiles() const { return smaller(pieces.tiles, grid.count()); }
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
  static std::int64_t chunk_of(std::int64_t count, int part_count, std::int64_t most) {
    return smaller(count, smaller(most, divide_up(divide_up(count, kUnit), part_count) * kUnit));
  }

  static constexpr std::int64_t kUnit = 32;
};

inline Bytes winograd_weight_workspace(const WinogradWeightPlan& plan) {
  return plan.threads() * plan.buffer_elements() * 4;
}

// Small gradients are summed by every thread over its share of the tiles and added up in order of the threads, as the
// direct kernels do.
inline WinogradWeightPlan plan_winograd_weights(const ConvShape& s, int threads, const SourceNorm& norm) {
  WinogradWeightPlan plan;
  plan.grid = {s.batch, s.height, s.width};
  plan.channels = s.channels;
  plan.columns = s.out_channels;
  plan.norm = norm;
  plan.pieces = kGradientPieces[0];
  if (s.taps() * s.channels * s.out_channels * 4 <= kPartialBytes) {
    plan.tile_parts = static_cast<int>(smaller(threads, plan.grid.count()));
  } else {
    plan.parts = choose_grid(divide_up(s.channels, WinogradWeightPlan::kUnit),
                             divide_up(s.out_channels, WinogradWeightPlan::kUnit), threads);
  }
  return plan;
}

}  // namespace thimble::kernels::THIMBLE_ISA
