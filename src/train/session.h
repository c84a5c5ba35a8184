// A compiled network in memory: arena, bound program and the turns of iterations and evaluations. Fills inputs, runs
// phases, sums losses; knows nothing of files, schedules or ends.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "data/loader.h"
#include "run/arena.h"
#include "run/mover.h"
#include "run/program.h"
#include "train/state_view.h"

namespace thimble {

struct BatchResult {
  double loss = 0;  // mean over the samples
  double hits = 0;
  std::optional<double> gradient_norm = std::nullopt;  // of all gradients before they are clipped, if they are
};

// Where a plan may give way to another: between two microbatches, and between two iterations.
enum class Boundary : std::uint8_t { microbatch, iteration };
using AtBoundary = std::function<void(Boundary)>;

// Writes the inputs of one microbatch.
using FillInputs = std::function<void(const TensorView& images, const TensorView& labels)>;

// One microbatch's turn in an iteration, with the time of every step.
struct TimedTurn {
  int phase = 0;                     // of the compiled ones
  double seconds = 0;                // of all steps and of what lies between them
  std::vector<double> step_seconds;  // in the order of Session::steps()
};

class Session {
 public:
  // Maps the arena, binds the program, then gives the graphs and plans in `compiled` back to the system and only then
  // touches the arena: the two are never resident together. A plan with a spill file takes all its room in
  // `spill_folder`; UserError if there is none.
  explicit Session(Compiled& compiled, const std::string& spill_folder = "");

  StateView state() const;
  Bytes arena_bytes() const { return arena_.bytes(); }
  Bytes promised_bytes() const { return promised_bytes_; }  // arena and reserve
  const SpillFile* spill() const { return spill_.get(); }   // null if the plan has none

  TransferTimes transfer_times() const { return mover_ ? mover_->times() : TransferTimes{}; }  // of the run so far

  // The whole test split in order, in batches of the size that evaluation was planned for.
  LoaderOptions evaluation_batches(int threads) const;

  const Ladder& ladder() const { return ladder_; }  // empty unless the budget may change
  std::size_t rung() const { return rung_; }        // of the ladder that runs now
  // Moves to another rung, at a boundary; to another microbatch only between iterations. False, and nothing has
  // changed, if the system refuses the memory.
  bool enter(std::size_t rung);

  // One iteration on the loader's batch at `position`. `at_boundary` is called before each microbatch.
  BatchResult train(Loader& loader, LoaderPosition position, RunScalars scalars, const AtBoundary& at_boundary);

  // One iteration of a full batch by the plan that train() would run, on what `fill` writes.
  std::vector<TimedTurn> train_timed(const FillInputs& fill, RunScalars scalars);
  std::vector<NodeId> steps(int phase) const { return program_.steps(phase); }

  // Over all `samples` of a loader made from evaluation_batches(); nothing if `stop` was set meanwhile.
  std::optional<BatchResult> evaluate(Loader& loader, std::int64_t samples, const std::atomic<bool>& stop,
                                      const AtBoundary& at_boundary);

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
  void bind_turns();
  void enter_plans(const Rung& rung);
  void follow_plan();  // views and turns as the program's present plan has them
  void run_turn(const BoundTurn& turn, const RunScalars& scalars, BatchResult& sum);
  void check(Status status, const BoundTurn& turn) const;

  Arena arena_;
  std::unique_ptr<SpillFile> spill_;
  std::unique_ptr<Mover> mover_;
  Program program_;
  Bytes persistent_bytes_ = 0;
  Bytes promised_bytes_ = 0;
  std::vector<TensorSpec> tensors_;
  std::vector<std::string> sparse_tensors_;
  std::int64_t batch_, train_samples_, test_samples_;
  std::int64_t microbatch_, evaluation_samples_;
  Ladder ladder_;
  std::size_t rung_ = 0;
  std::vector<BoundBatch> batches_;     // the full one and, if there is one, the ragged one
  std::vector<BoundTurn> evaluations_;  // the full one and a ragged one
  TensorView loss_, hits_;
  std::optional<TensorView> gradient_norm_;
};

}  // namespace thimble
