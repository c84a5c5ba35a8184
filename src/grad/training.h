// What one pass over a microbatch does: a graph with loss, gradients, accumulation and updates. No order, no memory.
#pragma once

#include <cstdint>
#include <string>

#include "ir/graph.h"

namespace thimble {

// Names that models, loaders and loops agree on.
inline constexpr std::string_view kImages = "images";
inline constexpr std::string_view kLabels = "labels";
inline constexpr std::string_view kLogits = "logits";
inline constexpr std::string_view kLoss = "loss";
inline constexpr std::string_view kHits = "hits";
inline constexpr std::string_view kGradientNorm = "gradient_norm";  // only where gradients are clipped
inline constexpr std::string_view kSparseTable = "sparse/table";

// One pass over `samples` samples. An iteration is a sequence of phases: the one that opens it starts the sums over
// microbatches, the one that closes it updates the parameters; with a single microbatch one phase does both.
struct Phase {
  std::int64_t samples = 0;
  bool opens = true;
  bool closes = true;
  bool trains = true;  // false: evaluation

  friend auto operator<=>(const Phase&, const Phase&) = default;
};

std::string name_of(const Phase& phase);  // "whole 100", "first 10", "middle 10", "last 10", "evaluate 10"

struct Training {
  Phase phase;
  Graph graph;
};

}  // namespace thimble
