#include "train/session.h"

#include <malloc.h>

#include <algorithm>

#include "base/error.h"

namespace thimble {
namespace {

constexpr Bytes kGuardBytes = 64;  // as the planner leaves them

ProgramOptions program_options(const Configuration& configuration) {
  return {.poison = configuration.poison, .guard = configuration.guard ? kGuardBytes : 0};
}

// What only the compiler and its report needed. The figures of the summary stay.
void release(Compiled& compiled) {
  compiled.phases = {};
  compiled.plans.phases = {};
  malloc_trim(0);
}

}  // namespace

Session::Session(Compiled& compiled)
    : arena_(compiled.plans.arena_bytes),
      program_(compiled.phases, compiled.plans, arena_, program_options(compiled.request.configuration)),
      persistent_bytes_(compiled.plans.persistent_bytes),
      tensors_(compiled.tensors),
      sparse_tensors_(compiled.sparse_tensors) {
  bind_turns(compiled);
  loss_ = program_.persistent(kLoss);
  hits_ = program_.persistent(kHits);
  if (program_.has_persistent(kGradientNorm)) gradient_norm_ = program_.persistent(kGradientNorm);
  release(compiled);
  arena_.touch();
}

void Session::bind_turns(const Compiled& compiled) {
  const CompileRequest& request = compiled.request;
  batches_.push_back({request.batch, bind(iteration_turns(request.batch, compiled.microbatch))});
  const std::int64_t rest = request.train_samples % request.batch;
  if (rest > 0) batches_.push_back({rest, bind(iteration_turns(rest, compiled.microbatch))});
  if (request.test_samples == 0) return;
  const std::int64_t full = std::min(compiled.evaluation_samples, request.test_samples);
  evaluations_ = bind(evaluation_turns(full, full));
  const std::int64_t ragged = request.test_samples % full;
  if (ragged > 0) evaluations_.push_back(bind(evaluation_turns(ragged, ragged))[0]);
}

std::vector<Session::BoundTurn> Session::bind(const std::vector<PhaseTurn>& turns) const {
  std::vector<BoundTurn> bound;
  for (const PhaseTurn& turn : turns) {
    const int phase = program_.phase_index(turn.phase);
    ensure(phase >= 0, "train: the program has no phase '", name_of(turn.phase), "'");
    bound.push_back({.phase = phase,
                     .offset = turn.offset,
                     .samples = turn.phase.samples,
                     .images = program_.input(phase, kImages),
                     .labels = program_.input(phase, kLabels)});
  }
  return bound;
}

StateView Session::state() const {
  return {.persistents = program_.persistents(),
          .tensors = tensors_,
          .sparse_tensors = sparse_tensors_,
          .scratch = {arena_.data() + persistent_bytes_, static_cast<std::size_t>(arena_.bytes() - persistent_bytes_)}};
}

LoaderOptions Session::evaluation_batches(int threads) const {
  return {.split = Split::test, .batch = evaluations_.front().samples, .shuffle = false, .threads = threads};
}

void Session::run_turn(const BoundTurn& turn, const RunScalars& scalars, BatchResult& sum) {
  ensure(program_.run(turn.phase, scalars) == Status::good, "train: a kernel of phase ", turn.phase, " failed");
  sum.loss += load(loss_, 0);
  sum.hits += load(hits_, 0);
}

BatchResult Session::train(Loader& loader, LoaderPosition position, RunScalars scalars) {
  const std::int64_t samples = loader.samples_in(position);
  const auto batch =
      std::find_if(batches_.begin(), batches_.end(), [&](const BoundBatch& known) { return known.samples == samples; });
  ensure(batch != batches_.end(), "train: no phases were planned for a batch of ", samples, " samples");
  scalars.inverse_batch = 1.0F / static_cast<float>(samples);
  BatchResult sum;
  for (const BoundTurn& turn : batch->turns) {
    loader.fill(position, turn.offset, turn.samples, turn.images, turn.labels);
    scalars.sample_offset = turn.offset;
    run_turn(turn, scalars, sum);
  }
  if (gradient_norm_) sum.gradient_norm = load(*gradient_norm_, 0);
  return sum;
}

std::optional<BatchResult> Session::evaluate(Loader& loader, std::int64_t samples, const std::atomic<bool>& stop) {
  BatchResult sum;
  RunScalars scalars;
  scalars.inverse_batch = 1.0F / static_cast<float>(samples);
  LoaderPosition position;
  for (std::int64_t done = 0; done < samples; position = loader.next(position)) {
    if (stop.load(std::memory_order_relaxed)) return std::nullopt;
    const std::int64_t count = loader.samples_in(position);
    const auto turn = std::find_if(evaluations_.begin(), evaluations_.end(),
                                   [&](const BoundTurn& known) { return known.samples == count; });
    ensure(turn != evaluations_.end(), "train: no phase was planned to evaluate ", count, " samples");
    loader.fill(position, 0, count, turn->images, turn->labels);
    run_turn(*turn, scalars, sum);
    done += count;
  }
  return sum;
}

}  // namespace thimble
