// Dynamic sparse reparameterization (Mostafa and Wang 2019): now and then the smallest weights are pruned and as many
// new positions grown, with a share for each tensor that follows its surviving weights. Works in place on the pools;
// their sizes never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "train/sparse_pools.h"

namespace thimble {

struct RewireOptions {
  std::uint64_t seed = 0;
  std::int64_t iteration = 0;     // iterations done; with the seed, the key of all draws
  double threshold = 1e-3;        // weights below it in magnitude are pruned
  std::int64_t prune_target = 0;  // how many that should be
  double tolerance = 0.1;         // share of the target by which the number may miss it without moving the threshold
};

struct RewireResult {
  std::int64_t below_threshold = 0;  // weights that fell below it, but for the last of a tensor
  std::int64_t moved = 0;            // pruned and grown: as many, unless fewer positions were free
  double threshold = 0;              // for the next time
};

// `scratch` takes one bit for each position of each sparse tensor.
RewireResult rewire(const SparsePools& pools, std::span<std::byte> scratch, const RewireOptions& options);

// As the study's 20,000 weights of WRN-28-2 with its 1,451,520 positions.
std::int64_t default_prune_target(std::int64_t position_count);

// True if a rewiring follows iteration `done` (counted from 1) of a run of `iterations`: every `period` iterations for
// the first 12.5 % of the run, then every 2, 4 and 8 periods until 40, 70 and 95 %, then never.
bool rewires_after(std::int64_t done, std::int64_t iterations, std::int64_t period);

}  // namespace thimble
