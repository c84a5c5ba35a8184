// Runs a few iterations of a compiled network, exactly as training would but on random samples, and times every step.
#pragma once

#include <string>

#include "compile/compile.h"
#include "measure/bench_figures.h"

namespace thimble {

struct RehearsalOptions {
  int iterations = 5;             // that count, behind one that does not
  std::uint64_t seed = 0;         // of weights and samples
  std::string spill_folder = {};  // for plans with a spill file
};

// Gives the graphs and plans in `compiled` back, as a session does.
BenchTimes rehearse(Compiled& compiled, const RehearsalOptions& options);

}  // namespace thimble
