// A compiled network in memory: arena, bound program and the turns of iterations and evaluations. Fills inputs, runs
// phases, sums losses; knows nothing of files, schedules or ends.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "data/loader.h"
#include "run/arena.h"
#include "run/program.h"
#include "train/state_view.h"

namespace thimble {

struct BatchResult {
  double loss = 0;  // mean over the samples
  double hits = 0;
  std::optional<double> gradient_norm = std::nullopt;  // of all gradients before they are clipped, if they are
};

class Session {
 public:
  // Maps the arena, binds the program, then gives the graphs and plans in `compiled` back to the system and only then
  // touches the arena: the two are never resident together.
  explicit Session(Compiled& compiled);

  StateView state() const;
  Bytes arena_bytes() const { return arena_.bytes(); }

  // The whole test split in order, in batches of the size that evaluation was planned for.
  LoaderOptions evaluation_batches(int threads) const;

  // One iteration on the loader's batch at `position`.
  BatchResult train(Loader& loader, LoaderPosition position, RunScalars scalars);

  // Over all `samples` of a loader made from evaluation_batches(); nothing if `stop` was set meanwhile.
  std::optional<BatchResult> evaluate(Loader& loader, std::int64_t samples, const std::atomic<bool>& stop);

 private:
  struct BoundTurn {
    int phase = 0;
    std::int64_t offset = 0;
    std::int64_t samples = 0;
    TensorView images, labels;
  };
  struct BoundBatch {
    std::int64_t samples = 0;
    std::vector<BoundTurn> turns;
  };

  std::vector<BoundTurn> bind(const std::vector<PhaseTurn>& turns) const;
  void bind_turns(const Compiled& compiled);
  void run_turn(const BoundTurn& turn, const RunScalars& scalars, BatchResult& sum);

  Arena arena_;
  Program program_;
  Bytes persistent_bytes_ = 0;
  std::vector<TensorSpec> tensors_;
  std::vector<std::string> sparse_tensors_;
  std::vector<BoundBatch> batches_;     // the full one and, if there is one, the ragged one
  std::vector<BoundTurn> evaluations_;  // the full one and a ragged one
  TensorView loss_, hits_;
  std::optional<TensorView> gradient_norm_;
};

}  // namespace thimble
