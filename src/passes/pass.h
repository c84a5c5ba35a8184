// A pass rewrites a graph without changing what it means (or, for passes the user asks for by name, in just the way he
// asked). Passes are pure, can be skipped by name, and are verified after every change.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "ir/graph.h"

namespace thimble {

enum class Master : std::uint8_t { f32, none };

struct PassContext {
  DType precision = DType::f32;  // of activations and their gradients
  Master master = Master::f32;   // none: parameters, optimizer state and gradients take the precision too
  double sparsity = 0;           // of the tensors in `sparse_tensors`
  std::vector<std::string> sparse_tensors;
};

struct Pass {
  std::string_view name;
  std::string_view purpose;
  bool (*run)(Graph&, const PassContext&) = nullptr;  // true: something changed
};

struct PassReport {
  std::string_view name;
  bool skipped = false;
  bool changed = false;
  int nodes_before = 0;
  int nodes_after = 0;
};

// Non-zeros that a sparse tensor of `count` elements starts with.
std::int64_t sparse_nonzeros(std::int64_t count, double sparsity);

// Runs the passes in order, verifying after each change; `skip` names passes to leave out.
std::vector<PassReport> run_passes(Graph& graph, std::span<const Pass> passes, const PassContext& context,
                                   const std::set<std::string>& skip);

}  // namespace thimble
