#include "train/train.h"

#include <cmath>

#include "base/error.h"
#include "run/meter.h"
#include "train/checkpoint.h"
#include "train/data_fit.h"
#include "train/initialize.h"
#include "train/trainer.h"
#include "train/weights.h"

namespace thimble {
namespace {

using Tell = std::function<void(const std::string&)>;

// What the data and the run's length decide; the caller need not state it twice.
TrainOptions resolved(const TrainOptions& asked, const Dataset& dataset) {
  TrainOptions options = asked;
  CompileRequest& request = options.compile;
  fit_to_data(request.model, dataset);
  request.train_samples = dataset.count(Split::train);
  request.test_samples = dataset.count(Split::test);
  request.loading_bytes = loading_bytes(dataset, request.target.threads);
  options.learning_rate.iterations = options.iterations;
  require(options.iterations >= 1, "iterations: found ", options.iterations, ", wanted at least 1");
  require(std::isfinite(options.learning_rate.peak) && options.learning_rate.peak >= 0, "learning rate: found ",
          options.learning_rate.peak, ", wanted a finite number, zero or more");
  require(request.batch <= request.train_samples, "batch: found ", request.batch, ", wanted at most the ",
          request.train_samples, " training samples of ", dataset.info().name);
  require(options.keep_checkpoints >= 1, "checkpoints to keep: found ", options.keep_checkpoints,
          ", wanted at least 1");
  require(options.sparse.period >= 1, "rewiring period: found ", options.sparse.period, ", wanted at least 1");
  return options;
}

struct Continuation {
  Checkpoint checkpoint;
  TrainerState trainer;
};

// Before anything is compiled, since the checkpoint's microbatch is kept. A folder that holds a run already is never
// written to by another.
std::optional<Continuation> find_continuation(const TrainOptions& options, const Tell& tell) {
  if (options.out_folder.empty()) {
    require(!options.resume, "resume: there is no folder to continue from");
    return std::nullopt;
  }
  if (!options.resume) {
    const std::vector<CheckpointEntry> known = list_checkpoints(options.out_folder);
    require(known.empty(), options.out_folder, ": holds the checkpoints of a run already (",
            known.empty() ? "" : known.front().path, "); continue it with --resume or choose another folder");
    return std::nullopt;
  }
  std::optional<Checkpoint> newest = find_checkpoint(options.out_folder, tell);
  if (!newest) {
    const std::vector<CheckpointEntry> broken = list_checkpoints(options.out_folder);
    require(broken.empty(), options.out_folder, ": none of its ", broken.size(),
            " checkpoints is whole. Nothing was changed; bring one back, or begin anew in another folder");
    tell(join_text(options.out_folder, " holds no complete checkpoint: the run starts from the beginning"));
    return std::nullopt;
  }
  TrainerState trainer = read_trainer_state(*newest);
  return Continuation{std::move(*newest), std::move(trainer)};
}

StartState prepare_state(const TrainOptions& options, const RunRecord& record,
                         const std::optional<Continuation>& continuation, const StateView& state, const Tell& tell) {
  if (continuation) {
    load_state(continuation->checkpoint, state);
    tell(join_text("continues ", continuation->checkpoint.path, " after ", continuation->trainer.iteration, " of ",
                   options.iterations, " iterations"));
    TrainerState trainer = continuation->trainer;
    trainer.run = record;
    return {std::move(trainer), continuation->checkpoint.path};
  }
  const CompileRequest& request = options.compile;
  initialize(state, {.seed = options.seed, .sparsity = request.sparsity, .threads = request.target.threads});
  if (!options.initial_weights.empty()) {
    import_weights(SafetensorsFile(open_to_read(options.initial_weights)), state);
    if (!state.sparse_tensors.empty()) {
      tell(join_text("sparse tensors took the values of ", options.initial_weights,
                     " at positions drawn at random; its other weights are not used"));
    }
  }
  TrainerState trainer;
  trainer.run = record;
  trainer.sparse_threshold = options.sparse.threshold;
  return {std::move(trainer), ""};
}

void tell_spill(const SpillFile* spill, const std::string& folder, const Tell& tell) {
  if (spill == nullptr) return;
  if (spill->is_in_memory()) {
    tell(join_text("--spill ", folder, " lies in memory itself (tmpfs): what is kept there leaves this process's ",
                   "memory, but not the machine's"));
  } else if (!spill->is_direct()) {
    tell(join_text("--spill ", folder, " has no direct I/O: the spill file goes through the page cache and is dropped ",
                   "from it at once, which is slower"));
  }
}

}  // namespace

TrainResult train(const TrainOptions& asked, const Dataset& dataset, OpTable ops, KernelTable kernels,
                  TrainObserver& observer, const std::atomic<bool>& stop, BudgetControl* control) {
  const Tell tell = [&](const std::string& note) { observer.on_note(note); };
  TrainOptions options = resolved(asked, dataset);
  options.compile.changing = options.compile.changing || control != nullptr;
  const std::optional<Continuation> continuation = find_continuation(options, tell);
  if (continuation) {
    const std::int64_t saved = continuation->trainer.run.microbatch;
    // Where the microbatch may change, the budget decides it, not where the run was stopped.
    const bool may_change = options.compile.allowed.contains("microbatch-change");
    if (!options.compile.microbatch && !may_change) options.compile.microbatch = saved;
    const std::int64_t microbatch = may_change ? saved : std::min(*options.compile.microbatch, options.compile.batch);
    check_resume(continuation->checkpoint, continuation->trainer.run, record_of(options, dataset.info(), microbatch),
                 tell);
  }
  TrainResult result;
  result.compile = compile_apart(options.compile, ops, kernels);
  if (!result.compile.compiled) {
    result.end = TrainEnd::does_not_fit;
    result.peak_resident_bytes = peak_resident_bytes();
    return result;
  }
  Compiled& compiled = *result.compile.compiled;
  observer.on_compiled(compiled);
  const RunRecord record = record_of(options, dataset.info(), compiled.microbatch);
  Session session(compiled, options.spill_folder);
  tell_spill(session.spill(), options.spill_folder, tell);
  StartState start = prepare_state(options, record, continuation, session.state(), tell);
  result.arena_bytes = session.arena_bytes();
  Trainer(options, dataset, session, std::move(start), observer, stop, control).run(result);
  return result;
}

}  // namespace thimble
