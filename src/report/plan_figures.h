// The figures of a plan that reports are made of: small, and independent of the plan once taken.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compile/compile.h"

namespace thimble {

// Bytes of the arena at the peak step. They sum to the arena.
struct Categories {
  Bytes parameters = 0;   // weights, running statistics, positions of sparse weights
  Bytes gradients = 0;    // of parameters, and their sums over microbatches
  Bytes optimizer = 0;    // momentum, moments
  Bytes activations = 0;  // what layers hand on, forward and backward
  Bytes workspace = 0;    // scratch of the kernel that runs, staging for the spill file, the sums of loss and hits
  Bytes input = 0;        // samples and labels
  Bytes slack = 0;        // alignment, and holes that nothing at the peak fits into

  Bytes sum() const { return parameters + gradients + optimizer + activations + workspace + input + slack; }
};

struct PlanFigures {
  std::string model;
  Labels labels = Labels::image;
  std::int64_t batch = 0;
  std::int64_t microbatch = 0;
  std::optional<Bytes> budget_bytes;
  std::optional<double> clip_norm;  // none: nothing is clipped
  Bytes tensor_bytes = 0;           // the arena
  Bytes baseline_bytes = 0;
  Bytes lower_bound_bytes = 0;
  Bytes process_bytes = 0;  // the promise
  Bytes spill_bytes = 0;    // of the spill file; 0: there is none
  Bytes moved_bytes = 0;    // to and from it, an iteration
  Categories categories;
  Reserve reserve;
  CostSource cost = CostSource::model;
  CostCoverage coverage;
  double seconds = 0;  // predicted, an iteration
  double recompute_flops_ratio = 0;
  double flops_per_sample = 0;
  std::int64_t steps = 0;  // that one iteration runs
  std::int64_t parameter_count = 0;
  std::vector<PassReport> passes;
  std::vector<std::string> levers;
};

PlanFigures figures_of(const Compiled& compiled);

// The moment at which the arena is fullest.
struct Peak {
  std::size_t phase = 0;
  int step = 0;
};
Peak find_peak(const PlanSet& plans);

struct AliveTensor {
  std::string name;
  std::string_view category;
  Bytes bytes = 0;
  std::string waits_for;  // the last step that reads it
};

// Transient tensors alive at the peak, largest first; copies of what lives in the spill file among them.
std::vector<AliveTensor> alive_at_peak(const Compiled& compiled);

std::string step_text(const Compiled& compiled, std::size_t phase,
                      int step);  // "step 17 of 340, conv2d 'layer1.conv1'"

}  // namespace thimble
