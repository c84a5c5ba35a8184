// The learning rate as a pure function of the iteration, so that a resume needs no state.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace thimble {

// one_cycle rises and falls along half cosines, one_cycle_linear along straight lines, as PyTorch's OneCycleLR does by
// either of its ways to anneal.
enum class LearningRateKind : std::uint8_t { constant, steps, cosine, one_cycle, one_cycle_linear };

struct LearningRateSpec {
  LearningRateKind kind = LearningRateKind::constant;
  double peak = 0.1;
  std::int64_t iterations = 1;  // of the whole run
  std::int64_t warm_up = 0;     // iterations of linear rise from zero (not for one-cycle, which rises by itself)
  std::vector<std::int64_t> milestones = {};  // steps: multiply by `factor` at each of these iterations
  double factor = 0.1;
  double rise = 0.3;          // one-cycle: share of the run spent rising
  double start_divisor = 25;  // one-cycle: starts at peak / start_divisor ...
  double end_divisor = 1e4;   // ... and ends at that / end_divisor
};

std::string_view name_of(LearningRateKind kind);
LearningRateKind learning_rate_kind_from_name(std::string_view name);
double learning_rate_at(const LearningRateSpec& spec, std::int64_t iteration);  // iteration counted from 0

}  // namespace thimble
