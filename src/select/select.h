// Training -> Selected: which kernel serves each node, what scratch it needs, what it holds outside the arena, what it
// costs.
#pragma once

#include <string>
#include <vector>

#include "analysis/cost.h"
#include "analysis/cost_table.h"
#include "grad/training.h"
#include "kernels/kernel.h"

namespace thimble {

struct Refusal {
  std::string_view kernel;
  std::string reason;
};

struct Choice {
  const Kernel* kernel = nullptr;  // null: the op's reference
  Bytes workspace = 0;
  Bytes resident = 0;
  double seconds = 0;
  bool is_measured = false;  // the seconds; else predicted, and scaled if others are measured
  double flops = 0;
  std::vector<Refusal> refusals;  // kernels of higher rank that did not serve
};

struct Selected {
  Training training;
  Target target;
  std::vector<Choice> choices;  // one a node

  const Graph& graph() const { return training.graph; }
  const Choice& choice(NodeId id) const { return choices[static_cast<std::size_t>(id.index)]; }
};

struct SelectOptions {
  Target target;
  bool use_references = false;  // a test configuration: no kernel but the ops' own references
  CostModel cost;
  const CostTable* measured = nullptr;  // null: all times are predicted
};

Selected select_kernels(Training training, KernelTable kernels, const SelectOptions& options);

}  // namespace thimble
