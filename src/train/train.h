// A training run: compiled program, data, learning rate, checkpoints. Prints nothing; whoever watches gets told.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "compile/compile.h"
#include "data/augment.h"
#include "data/dataset.h"
#include "run/mover.h"
#include "train/budget_control.h"
#include "train/learning_rate.h"

namespace thimble {

struct SparseOptions {
  enum class Method : std::uint8_t { dynamic, fixed };  // dsr | static
  Method method = Method::dynamic;
  // Dynamic sparse reparameterization: initial threshold, aim of weights pruned a time, tolerance. 0: derived from the
  // network.
  double threshold = 1e-3;
  std::int64_t prune_target = 0;
  double tolerance = 0.1;
  std::int64_t period = 100;  // iterations between two rewirings at first; 2, 4 and 8 times that as the run goes on
};

struct TrainOptions {
  CompileRequest
      compile;  // model, batch, optimizer, budget, levers; sample counts and shapes are filled in from the data
  LearningRateSpec learning_rate;
  Augmentation augmentation = Augmentation::none;
  std::uint64_t seed = 0;
  std::int64_t iterations = 0;      // of the whole run
  std::int64_t evaluate_every = 0;  // iterations; 0: at the end of each epoch
  std::int64_t save_every = 0;      // iterations; 0: at the end of each epoch
  int keep_checkpoints = 2;
  std::string out_folder;       // empty: nothing is written
  bool resume = false;          // continue from the newest complete checkpoint in out_folder
  std::string spill_folder;     // for plans that keep values in a spill file; empty: there is none
  std::string initial_weights;  // a safetensors file under PyTorch's names; empty: drawn from the seed
  SparseOptions sparse;
};

struct IterationFacts {
  std::int64_t iteration = 0;  // counted from 1
  std::int64_t iterations = 0;
  double epoch = 0;
  double loss = 0;
  double accuracy = 0;  // on this batch: of samples, or of places where the labels are masks
  double learning_rate = 0;
  std::optional<double> gradient_norm = std::nullopt;  // before clipping; none without it
  double samples_per_second = 0;
  Bytes resident_bytes = 0;
};

struct EvaluationFacts {
  std::int64_t iteration = 0;
  double loss = 0;
  double accuracy = 0;
};

// A stretch of a run under one budget and one plan.
struct BudgetSegment {
  std::int64_t iteration = 0;        // in which it began
  std::optional<Bytes> budget = {};  // none: unconstrained
  std::int64_t microbatch = 0;
  Bytes arena_bytes = 0;
  Bytes promised_bytes = 0;              // arena and reserve
  std::int64_t delay_microbatches = 0;   // that ended under the budget before, after this one was asked for ...
  double delay_seconds = 0;              // ... and how long that took, at most
  std::optional<Bytes> peak_bytes = {};  // measured; none where the system does not let the peak be counted anew

  bool is_exceeded() const { return budget && peak_bytes.value_or(0) > *budget; }
};

// Told what happens; a progress bar, a log, a test.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_compiled(const Compiled&) {}
  virtual void on_note(const std::string&) {}  // a sentence the user should read: what a resume found, say
  virtual void on_iteration(const IterationFacts&) {}
  virtual void on_evaluation(const EvaluationFacts&) {}
  virtual void on_checkpoint(const std::string& /*path*/) {}
  virtual void on_budget(const BudgetSegment& /*left*/, const BudgetSegment& /*entered*/) {}
};

enum class TrainEnd : std::uint8_t { finished, does_not_fit, diverged, interrupted, over_budget };

struct TrainResult {
  TrainEnd end = TrainEnd::finished;
  CompileResult compile;  // its `compiled` has been moved from once training started, but for the summary figures
  Bytes arena_bytes = 0;
  Bytes peak_resident_bytes = 0;
  std::vector<BudgetSegment> segments;  // one, and another for every change of budget; at most the last 1,000
  double samples_per_second = 0;        // of the training iterations, without evaluation and checkpoints
  TransferTimes transfers;              // between arena and spill file, of the whole run
  std::int64_t iterations = 0;
  double train_loss = 0;  // mean of the last 100 iterations or fewer
  std::optional<double> test_accuracy;
  std::string checkpoint;  // folder of the newest one; empty if there is none
};

// `stop` may be set from a signal handler: the run saves and ends as interrupted. With a `control` the budget may
// change while the run is under way.
TrainResult train(const TrainOptions& options, const Dataset& dataset, OpTable ops, KernelTable kernels,
                  TrainObserver& observer, const std::atomic<bool>& stop, BudgetControl* control = nullptr);

struct EvaluateOptions {
  CompileRequest compile;
  std::string
      weights;  // a safetensors file, a checkpoint's folder, or a run's, of which the newest checkpoint is taken
};

EvaluationFacts evaluate_weights(const EvaluateOptions& options, const Dataset& dataset, OpTable ops,
                                 KernelTable kernels);

}  // namespace thimble
