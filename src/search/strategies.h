// Named ways to keep and recompute, known from the literature; the search starts from them and they enter the same
// front.
#pragma once

#include <string>
#include <vector>

#include "schedule/schedule.h"

namespace thimble {

struct Strategy {
  std::string name;
  std::vector<Keep> keep;
};

// Values large enough to be worth a decision: forward ones, and gradients that wait for the norm of all.
std::vector<ValueId> large_candidates(const Scheduler& scheduler);
std::vector<ValueId> large_gradients(const Scheduler& scheduler);

// "keep all"; "cheap": recompute what costs little arithmetic a byte (norms, activations, sums); "block k": keep every
// k-th value that alone separates the forward pass (Chen et al. 2016), recompute the rest of a segment once; "block k
// cheap": both. Where gradients wait for the norm of all, each of these keeps them, and its twin, "... second pass",
// makes all of them again.
std::vector<Strategy> named_strategies(const Scheduler& scheduler);

}  // namespace thimble
