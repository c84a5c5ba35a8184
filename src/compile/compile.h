// The whole way from a model's name to a plan that is proven and ready to bind.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compile/ladder.h"
#include "compile/phases.h"
#include "compile/point.h"
#include "compile/reserve.h"
#include "grad/optimizer.h"
#include "memory/make_plan.h"
#include "models/model.h"
#include "passes/pass.h"
#include "search/front.h"

namespace thimble {

// Test configurations: the same results must come out of every one.
struct Configuration {
  std::set<std::string> skipped_passes = {};
  bool in_place = true;
  bool reuse = true;
  bool poison = false;
  bool guard = false;
  bool references = false;

  Bytes guard_bytes() const { return guard ? 64 : 0; }  // on both sides of every transient buffer
};

struct CompileRequest {
  ModelSpec model;  // its `samples` and `mode` are set by the compiler
  std::int64_t batch = 100;
  std::optional<std::int64_t> microbatch;  // none: chosen by predicted time among those that fit
  std::int64_t train_samples = 0;          // samples in an epoch; a remainder makes one more batch size. 0: none
  std::int64_t test_samples = 0;           // 0: no evaluation phases
  Bytes loading_bytes = 0;                 // what reading samples holds outside the arena
  OptimizerSpec optimizer;
  DType precision = DType::f32;
  Master master = Master::f32;
  double sparsity = 0;
  // Levers the user allows by name: "microbatch-norm", "microbatch-change", "offload".
  std::set<std::string> allowed;
  double spill_bandwidth = 500e6;  // bytes a second between arena and spill file, as predictions take it
  Target target;
  std::optional<Bytes> memory;         // budget of the whole process; none: unconstrained
  std::optional<Bytes> tensor_memory;  // budget of the arena alone, for comparison with papers; none: unconstrained
  bool changing = false;               // the budget may change while training: a ladder of plans is kept
  Recompute recompute = Recompute::automatic;
  CostSource cost = CostSource::model;
  std::shared_ptr<const CostTable> costs = {};  // there if `cost` is measured
  Configuration configuration;
};

// How much of what was planned with measured costs was measured.
struct CostCoverage {
  std::int64_t measured = 0;  // kernels of all phases
  std::int64_t missing = 0;   // of which the time was predicted ...
  double ratio = 1;           // ... and scaled by this
};

struct Compiled {
  CompileRequest request;
  std::int64_t microbatch = 0;
  std::int64_t evaluation_samples = 0;
  std::vector<TensorSpec> tensors;  // of the model, dense, under PyTorch's names
  std::vector<std::string> sparse_tensors;
  std::vector<Selected> phases;
  PlanSet plans;
  PointSummary point;
  Reserve reserve;
  Bytes baseline_bytes = 0;
  double flops_per_sample = 0;  // forward, backward and update, without recomputation
  CostCoverage coverage;
  std::vector<PassReport> passes;
  Ladder ladder;  // empty unless the budget may change
};

// Whether it fits is an expected outcome, hence a value.
struct CompileResult {
  std::optional<Compiled> compiled;  // none: does not fit, and only then the others are set
  Bytes smallest_tensor_bytes = 0;   // the smallest arena that any allowed choice needs ...
  Bytes smallest_memory = 0;         // ... and the smallest budget for the whole process, perhaps of another choice
  std::int64_t smallest_microbatch = 0;
  std::optional<Compiled> smallest;  // the choice that is smallest in what the request bounds, for the report
};

CompileResult compile(const CompileRequest& request, OpTable ops, KernelTable kernels);

// The same on a thread of its own, which has a heap of its own: a program bound to the result then lies close together,
// not in the gaps of what the compiler frees, and the compiler's heap goes back to the system whole.
CompileResult compile_apart(const CompileRequest& request, OpTable ops, KernelTable kernels);

// True if samples influence each other in this model, so that microbatching changes results.
bool is_batch_coupled(const Graph& graph);

// What the search adds over the named strategies: time under one limit, judged by live bytes before placement.
struct StrategyRow {
  struct Entry {
    Recompute family = Recompute::none;
    std::optional<double> seconds;  // none: it has no schedule this small
  };
  Bytes arena_bytes = 0;  // the limit
  double seconds = 0;     // of the whole front
  std::vector<Entry> named;
};

struct Exploration {
  std::vector<PointSummary> points;  // from fastest to smallest, every one placed
  CostCoverage coverage = {};        // over all microbatches
  std::vector<StrategyRow> rows;     // from most bytes to fewest; none if the request names a strategy itself
};

// The front over all microbatches that `request` allows: no point is beaten in process bytes and time by one that uses
// no more levers, so that a lossless point stays beside a better one that changes the result.
Exploration explore(const CompileRequest& request, OpTable ops, KernelTable kernels);

}  // namespace thimble
