#include "train/session.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/run_apart.h"

namespace thimble {
namespace {

constexpr std::size_t kMostWaiting = 64;  // transfers

ProgramOptions program_options(const Configuration& configuration) {
  return {.poison = configuration.poison, .guard = configuration.guard_bytes()};
}

// One file for all plans that the run may ever have.
std::unique_ptr<SpillFile> open_spill(const Compiled& compiled, const std::string& folder, const Arena& arena) {
  const PlanSet& plans = compiled.plans;
  const Bytes bytes = std::max(plans.spill_bytes, compiled.ladder.largest_spill());
  if (bytes == 0) return nullptr;
  require(!folder.empty(), "offload: found no folder for the ", to_bytes_text(bytes),
          " that this plan keeps outside memory, wanted --spill DIR");
  const std::span<std::byte> staging(arena.data() + plans.staging.offset,
                                     static_cast<std::size_t>(plans.staging.bytes));
  return std::make_unique<SpillFile>(folder, bytes, staging);
}

// What only the compiler, its report and binding needed. The figures of the summary stay.
void release(Compiled& compiled) {
  const auto drop = [](auto&... parts) { (std::exchange(parts, {}), ...); };
  run_apart([&] {
    drop(compiled.phases, compiled.plans.phases, compiled.plans.persistents, compiled.tensors, compiled.sparse_tensors);
  });
  malloc_trim(0);
}

}  // namespace

Session::Session(Compiled& compiled, const std::string& spill_folder)
    : arena_(compiled.plans.arena_bytes, compiled.ladder.largest_arena()),
      spill_(open_spill(compiled, spill_folder, arena_)),
      mover_(spill_ ? std::make_unique<Mover>(*spill_, kMostWaiting) : nullptr),
      program_(compiled.phases, compiled.plans, arena_, program_options(compiled.request.configuration), mover_.get()),
      persistent_bytes_(compiled.plans.persistent_bytes),
      promised_bytes_(compiled.point.process_bytes),
      tensors_(compiled.tensors),
      sparse_tensors_(compiled.sparse_tensors),
      batch_(compiled.request.batch),
      train_samples_(compiled.request.train_samples),
      test_samples_(compiled.request.test_samples),
      microbatch_(compiled.microbatch),
      evaluation_samples_(compiled.evaluation_samples),
      ladder_(std::move(compiled.ladder)) {
  program_.add_phases(ladder_.other_phases);
  ladder_.other_phases = {};
  if (!ladder_.is_empty()) {
    rung_ = ladder_.start;
    enter_plans(ladder_.rungs[rung_]);
  }
  follow_plan();
  release(compiled);
  arena_.touch();
}

bool Session::enter(std::size_t index) {
  const Rung& rung = ladder_.rungs[index];
  const bool grows = rung.plans.arena_bytes > arena_.bytes();
  if (grows && !arena_.resize(rung.plans.arena_bytes)) return false;
  enter_plans(rung);
  // Only now: until here values that persist may have lain above.
  if (!grows && !arena_.resize(rung.plans.arena_bytes)) {
    enter_plans(ladder_.rungs[rung_]);
    return false;
  }
  const LadderLayout& layout = ladder_.layouts[rung.layout];
  rung_ = index;
  persistent_bytes_ = rung.plans.persistent_bytes;
  promised_bytes_ = rung.point.process_bytes;
  microbatch_ = layout.microbatch;
  evaluation_samples_ = layout.evaluation_samples;
  follow_plan();
  return true;
}

void Session::enter_plans(const Rung& rung) { program_.enter(rung.plans, ladder_.layouts[rung.layout].persistents); }

void Session::follow_plan() {
  bind_turns();
  loss_ = program_.persistent(kLoss);
  hits_ = program_.persistent(kHits);
  if (program_.has_persistent(kGradientNorm)) gradient_norm_ = program_.persistent(kGradientNorm);
}

void Session::bind_turns() {
  batches_.clear();
  evaluations_.clear();
  batches_.push_back({batch_, bind(iteration_turns(batch_, microbatch_))});
  const std::int64_t rest = train_samples_ % batch_;
  if (rest > 0) batches_.push_back({rest, bind(iteration_turns(rest, microbatch_))});
  if (test_samples_ == 0) return;
  const std::int64_t full = std::min(evaluation_samples_, test_samples_);
  evaluations_ = bind(evaluation_turns(full, full));
  const std::int64_t ragged = test_samples_ % full;
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
          .scratch = {arena_.data() + persistent_bytes_, static_cast<std::size_t>(arena_.bytes() - persistent_bytes_)},
          .spill = spill_.get()};
}

LoaderOptions Session::evaluation_batches(int threads) const {
  return {.split = Split::test, .batch = evaluations_.front().samples, .shuffle = false, .threads = threads};
}

void Session::check(Status status, const BoundTurn& turn) const {
  require(status == Status::good || !spill_ || spill_->error().empty(), spill_ ? spill_->error() : "");
  ensure(status == Status::good, "train: a kernel of phase ", turn.phase, " failed");
}

void Session::run_turn(const BoundTurn& turn, const RunScalars& scalars, BatchResult& sum) {
  check(program_.run(turn.phase, scalars), turn);
  sum.loss += load(loss_, 0);
  sum.hits += load(hits_, 0);
}

BatchResult Session::train(Loader& loader, LoaderPosition position, RunScalars scalars, const AtBoundary& at_boundary) {
  at_boundary(Boundary::iteration);
  const std::int64_t samples = loader.samples_in(position);
  const auto known =
      std::find_if(batches_.begin(), batches_.end(), [&](const BoundBatch& batch) { return batch.samples == samples; });
  ensure(known != batches_.end(), "train: no phases were planned for a batch of ", samples, " samples");
  // By index: a boundary may put other views in the place of these turns, though not another number of them.
  const auto batch = static_cast<std::size_t>(known - batches_.begin());
  scalars.inverse_batch = 1.0F / static_cast<float>(samples);
  BatchResult sum;
  for (std::size_t t = 0; t < batches_[batch].turns.size(); ++t) {
    if (t > 0) at_boundary(Boundary::microbatch);
    const BoundTurn& turn = batches_[batch].turns[t];
    loader.fill(position, turn.offset, turn.samples, turn.images, turn.labels);
    scalars.sample_offset = turn.offset;
    run_turn(turn, scalars, sum);
  }
  if (gradient_norm_) sum.gradient_norm = load(*gradient_norm_, 0);
  return sum;
}

std::vector<TimedTurn> Session::train_timed(const FillInputs& fill, RunScalars scalars) {
  using Clock = std::chrono::steady_clock;
  scalars.inverse_batch = 1.0F / static_cast<float>(batch_);
  std::vector<TimedTurn> timed;
  for (const BoundTurn& turn : batches_.front().turns) {
    fill(turn.images, turn.labels);
    scalars.sample_offset = turn.offset;
    TimedTurn& now = timed.emplace_back();
    now.phase = turn.phase;
    now.step_seconds.resize(program_.steps(turn.phase).size());
    const Clock::time_point begin = Clock::now();
    const Status status = program_.run_timed(turn.phase, scalars, now.step_seconds);
    now.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    check(status, turn);
  }
  return timed;
}

std::optional<BatchResult> Session::evaluate(Loader& loader, std::int64_t samples, const std::atomic<bool>& stop,
                                             const AtBoundary& at_boundary) {
  BatchResult sum;
  RunScalars scalars;
  scalars.inverse_batch = 1.0F / static_cast<float>(samples);
  LoaderPosition position;
  for (std::int64_t done = 0; done < samples; position = loader.next(position)) {
    if (stop.load(std::memory_order_relaxed)) return std::nullopt;
    at_boundary(Boundary::microbatch);
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
