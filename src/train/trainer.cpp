#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "run/meter.h"
#include "train/rewire.h"
#include "train/sparse_pools.h"

namespace thimble {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

LoaderOptions training_batches(const TrainOptions& options) {
  return {.split = Split::train,
          .batch = options.compile.batch,
          .seed = options.seed,
          .augmentation = options.augmentation,
          .threads = options.compile.target.threads};
}

}  // namespace

double RecentMean::mean(double otherwise) const {
  const std::size_t filled = std::min(count_, values_.size());
  double sum = 0;
  for (std::size_t i = 0; i < filled; ++i) sum += values_[i];
  return filled == 0 ? otherwise : sum / static_cast<double>(filled);
}

Trainer::Trainer(const TrainOptions& options, const Dataset& dataset, Session& session, StartState start,
                 TrainObserver& observer, const std::atomic<bool>& stop, BudgetControl* control)
    : options_(options),
      dataset_(dataset),
      session_(session),
      state_(std::move(start.trainer)),
      observer_(observer),
      stop_(stop),
      test_samples_(dataset.count(Split::test)),
      loader_memory_(dataset, options.compile.target.threads),
      train_loader_(dataset, training_batches(options), loader_memory_),
      keeper_(
          session, control,
          {.iteration = state_.iteration + 1,
           .budget = options.compile.memory,
           .microbatch = state_.run.microbatch,
           .arena_bytes = session.arena_bytes(),
           .promised_bytes = session.promised_bytes()},
          {.tell = [this](const std::string& note) { observer_.on_note(note); },
           .on_change = [this](const BudgetSegment& left, const BudgetSegment& entered) { on_budget(left, entered); }}),
      checkpoint_(std::move(start.checkpoint)) {
  if (!checkpoint_.empty()) saved_iteration_ = state_.iteration;
  if (!options.out_folder.empty()) folder_.emplace(options.out_folder, state_);
}

void Trainer::run(TrainResult& result) {
  result.end = loop();
  result.segments = keeper_.finish();
  result.peak_resident_bytes = peak_resident_bytes();
  for (const BudgetSegment& segment : result.segments)
    result.peak_resident_bytes = std::max(result.peak_resident_bytes, segment.peak_bytes.value_or(0));
  result.samples_per_second = seconds_ > 0 ? static_cast<double>(samples_) / seconds_ : 0;
  result.transfers = session_.transfer_times();
  result.iterations = state_.iteration;
  result.train_loss = recent_loss_.mean(state_.train_loss);
  result.test_accuracy = test_accuracy_;
  result.checkpoint = checkpoint_;
}

TrainEnd Trainer::loop() {
  while (state_.iteration < options_.iterations) {
    if (is_stopped()) return save() ? TrainEnd::interrupted : TrainEnd::diverged;
    if (!iterate()) return TrainEnd::diverged;
    rewire_if_due();
    if (is_due(options_.evaluate_every)) evaluate();
    if (is_due(options_.save_every)) {
      if (!save()) return TrainEnd::diverged;
      if (keeper_.is_over_budget()) return TrainEnd::over_budget;
    }
  }
  // A finished run that is continued has nothing left to do but to be measured.
  if (!test_accuracy_) evaluate();
  return keeper_.is_over_budget() ? TrainEnd::over_budget : TrainEnd::finished;
}

bool Trainer::iterate() {
  const double started = seconds_now();
  const LoaderPosition position = train_loader_.position_of(state_.iteration);
  const std::int64_t samples = train_loader_.samples_in(position);
  RunScalars scalars;
  scalars.seed = options_.seed;
  scalars.iteration = state_.iteration;
  scalars.learning_rate = static_cast<float>(learning_rate_at(options_.learning_rate, state_.iteration));
  const BatchResult batch = session_.train(train_loader_, position, scalars,
                                           [this](Boundary boundary) { keeper_.at(boundary, state_.iteration + 1); });
  const double seconds = seconds_now() - started;
  ++state_.iteration;
  state_.position = train_loader_.position_of(state_.iteration);
  seconds_ += seconds;
  samples_ += samples;

  IterationFacts facts;
  facts.iteration = state_.iteration;
  facts.iterations = options_.iterations;
  facts.epoch = static_cast<double>(state_.iteration) / static_cast<double>(train_loader_.batches_per_epoch());
  facts.loss = batch.loss;
  facts.accuracy = batch.hits / static_cast<double>(samples);
  facts.learning_rate = static_cast<double>(scalars.learning_rate);
  facts.gradient_norm = batch.gradient_norm;
  facts.samples_per_second = seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  facts.resident_bytes = resident_bytes();
  if (folder_) folder_->log().add(facts, seconds);
  observer_.on_iteration(facts);
  if (!std::isfinite(batch.loss)) return false;
  recent_loss_.add(batch.loss);
  return true;
}

void Trainer::rewire_if_due() {
  const SparseOptions& sparse = options_.sparse;
  if (sparse.method != SparseOptions::Method::dynamic) return;
  if (!rewires_after(state_.iteration, options_.iterations, sparse.period)) return;
  // Asked for anew each time: where homes move to the spill file and back, what stays moves in the arena.
  const StateView state = session_.state();
  const SparsePools pools = sparse_pools(state);
  if (pools.slots.empty()) return;
  const std::int64_t target =
      sparse.prune_target > 0 ? sparse.prune_target : default_prune_target(pools.position_count());
  const RewireResult result = rewire(pools, state.scratch,
                                     {.seed = options_.seed,
                                      .iteration = state_.iteration,
                                      .threshold = state_.sparse_threshold,
                                      .prune_target = target,
                                      .tolerance = sparse.tolerance});
  state_.sparse_threshold = result.threshold;
}

void Trainer::evaluate() {
  if (test_samples_ == 0) return;
  // Made for each evaluation: the samples that pass at a time follow from the microbatch, which may have changed.
  Loader loader(dataset_, session_.evaluation_batches(options_.compile.target.threads), loader_memory_);
  const std::optional<BatchResult> sum = session_.evaluate(
      loader, test_samples_, stop_, [this](Boundary boundary) { keeper_.at(boundary, state_.iteration); });
  if (!sum) return;
  const EvaluationFacts facts{
      .iteration = state_.iteration, .loss = sum->loss, .accuracy = sum->hits / static_cast<double>(test_samples_)};
  test_accuracy_ = facts.accuracy;
  if (folder_) folder_->log().add(facts);
  observer_.on_evaluation(facts);
}

bool Trainer::save() {
  if (!folder_ || saved_iteration_ == state_.iteration) return true;
  // A loss can be finite when the update that followed it was not.
  const StateView state = session_.state();
  if (const Program::Persistent* bad = find_not_finite(state)) {
    observer_.on_note(join_text("'", bad->name, "' holds a value that is not finite after iteration ", state_.iteration,
                                ": nothing was saved"));
    return false;
  }
  state_.train_loss = recent_loss_.mean(state_.train_loss);
  checkpoint_ = folder_->save(state_, state, options_.keep_checkpoints);
  saved_iteration_ = state_.iteration;
  observer_.on_checkpoint(checkpoint_);
  return true;
}

bool Trainer::is_due(std::int64_t every) const {
  const std::int64_t period = every > 0 ? every : train_loader_.batches_per_epoch();
  return state_.iteration == options_.iterations || state_.iteration % period == 0;
}

void Trainer::on_budget(const BudgetSegment& left, const BudgetSegment& entered) {
  state_.run.microbatch = entered.microbatch;
  if (folder_) folder_->log().add(left, entered);
  observer_.on_budget(left, entered);
}

}  // namespace thimble
