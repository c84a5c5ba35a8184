// Budgets that change while training: no iteration is lost and no bit changes, whatever the budgets do and whenever.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <thread>

#include "train/support.h"

namespace thimble::testing {
namespace {

// Smallest and largest budget that the ladder of a run knows.
struct Range {
  Bytes smallest = 0, largest = 0;
};

// A group-norm network with dropout, so that recomputed random numbers show; two microbatches a batch.
TrainOptions changing_run(const std::string& folder) {
  TrainOptions options = short_run(folder);
  options.compile.recompute = Recompute::automatic;
  options.compile.model.dropout = 0.2;
  return options;
}

Range range_of(TrainOptions options, const Dataset& dataset = TinyDataset()) {
  options.out_folder = "";
  options.compile.changing = true;
  options.compile.memory = kMiB;
  const CompileResult result = run(options, dataset).compile;
  return {result.smallest_memory, result.smallest->ladder.rungs.front().point.process_bytes};
}

// Asks for another budget at some boundaries, as a pipe or a limit would.
class Script : public BudgetControl {
 public:
  std::function<std::optional<Bytes>(std::int64_t boundary)> budget_at;
  std::int64_t boundaries = 0;

 private:
  void listen(const BudgetFacts&, const Tell&) override {
    if (const std::optional<Bytes> budget = budget_at(++boundaries)) set_budget(*budget);
  }
};

class ChangeRecorder : public TrainObserver {
 public:
  void on_note(const std::string& note) override { notes.push_back(note); }
  void on_iteration(const IterationFacts& facts) override { iterations.push_back(facts.iteration); }
  void on_budget(const BudgetSegment& left, const BudgetSegment& entered) override {
    if (segments.empty()) segments.push_back(left);
    segments.push_back(entered);
  }
  std::size_t changes() const { return segments.empty() ? 0 : segments.size() - 1; }

  std::vector<std::string> notes;
  std::vector<std::int64_t> iterations;
  std::vector<BudgetSegment> segments;
  std::atomic<bool> stop = false;
};

TrainResult run_with(const TrainOptions& options, BudgetControl& control, ChangeRecorder& recorder,
                     const Dataset& dataset = TinyDataset()) {
  const TrainResult result = train(options, dataset, op_table(), cpu_kernels(), recorder, recorder.stop, &control);
  // The test program's own memory, not the run's, may be above the budget.
  EXPECT_TRUE(result.end == TrainEnd::finished || result.end == TrainEnd::over_budget);
  return result;
}

// From the smallest to a little more than the largest: promises come in whole MiB, so the largest may be the next one.
Bytes random_budget(const Range& range, std::int64_t number) {
  const RandomKey key = random_key(9, RandomPurpose::test, 0);
  const auto spread = static_cast<std::uint64_t>(range.largest - range.smallest + kMiB);
  return range.smallest + static_cast<Bytes>(random_below(key, static_cast<std::uint64_t>(number), spread));
}

struct ChangeCase {
  std::string name;
  OptimizerKind optimizer = OptimizerKind::momentum;
  double sparsity = 0;
  bool poison = false;
  double clip_norm = 0;
  bool offload = false;
  std::string model = "wrn10-1-gn";
};

void allow_offload(TrainOptions& options, const std::string& folder) {
  options.compile.allowed.insert("offload");
  options.spill_folder = folder;
}

class Changes : public ::testing::TestWithParam<ChangeCase> {};

TEST_P(Changes, FiftyInOneRunLoseNothing) {
  const TempFolder folder(fast_parent());
  const TinyDataset dataset(21);  // a ragged last batch
  TrainOptions options = changing_run(folder / "steady");
  options.compile.model.name = GetParam().model;
  options.compile.optimizer.kind = GetParam().optimizer;
  options.compile.sparsity = GetParam().sparsity;
  options.compile.configuration.poison = GetParam().poison;
  options.compile.optimizer.clip_norm = GetParam().clip_norm;
  options.sparse.period = 2;
  options.iterations = 60;
  run(options, dataset);
  if (GetParam().offload) allow_offload(options, folder.path());
  const Range range = range_of(options, dataset);
  ASSERT_LT(range.smallest, range.largest);
  options.out_folder = folder / "changing";
  Script script;
  script.budget_at = [&](std::int64_t boundary) -> std::optional<Bytes> {
    if (boundary % 2 != 0 || boundary > 100) return std::nullopt;
    return random_budget(range, boundary);
  };
  ChangeRecorder recorder;
  const TrainResult result = run_with(options, script, recorder, dataset);
  EXPECT_EQ(recorder.changes(), 50U);
  EXPECT_EQ(result.segments.size(), 51U);
  EXPECT_EQ(result.iterations, 60);
  EXPECT_EQ(recorder.iterations.size(), 60U);
  EXPECT_TRUE(state_of(folder / "changing") == state_of(folder / "steady"));
  Bytes least = range.largest, most = 0;
  for (const BudgetSegment& segment : recorder.segments) {
    if (!segment.budget) continue;
    EXPECT_LE(segment.promised_bytes, *segment.budget);
    EXPECT_EQ(segment.delay_microbatches, 1);
    least = std::min(least, segment.arena_bytes);
    most = std::max(most, segment.arena_bytes);
  }
  EXPECT_LT(least, most) << "the plan never changed";
}

INSTANTIATE_TEST_SUITE_P(
    Runs, Changes,
    ::testing::Values(
        ChangeCase{.name = "momentum"}, ChangeCase{.name = "nesterov", .optimizer = OptimizerKind::nesterov},
        ChangeCase{.name = "adamw_poisoned", .optimizer = OptimizerKind::adamw, .poison = true},
        ChangeCase{.name = "sparse", .sparsity = 0.8}, ChangeCase{.name = "offload", .offload = true},
        ChangeCase{
            .name = "offload_adamw_poisoned", .optimizer = OptimizerKind::adamw, .poison = true, .offload = true},
        ChangeCase{.name = "offload_sparse", .sparsity = 0.8, .offload = true},
        // Wide enough for dense tensors to leave the arena, which moves what stays.
        ChangeCase{.name = "offload_sparse_wide", .sparsity = 0.8, .offload = true, .model = "wrn10-2-gn"},
        ChangeCase{.name = "offload_clipped", .clip_norm = 0.1, .offload = true}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(Changes, TakeEffectAtTheNextMicrobatch) {
  const TrainOptions options = changing_run("");
  const Range range = range_of(options);
  Script script;
  script.budget_at = [&](std::int64_t boundary) -> std::optional<Bytes> {
    // Boundaries are counted from one: the fourth lies within the second iteration.
    return boundary == 4 ? std::optional(range.smallest) : std::nullopt;
  };
  ChangeRecorder recorder;
  run_with(options, script, recorder);
  ASSERT_EQ(recorder.changes(), 1U);
  EXPECT_EQ(recorder.segments[1].iteration, 2);
  EXPECT_EQ(recorder.segments[1].promised_bytes, range.smallest);
  EXPECT_LT(recorder.segments[1].arena_bytes, recorder.segments[0].arena_bytes);
}

TEST(Changes, ThatCannotBeMetAreRefusedAndTheRunGoesOn) {
  const TempFolder folder(fast_parent());
  TrainOptions options = changing_run(folder / "steady");
  run(options);
  const Range range = range_of(options);
  options.out_folder = folder / "refusing";
  Script script;
  script.budget_at = [&](std::int64_t boundary) -> std::optional<Bytes> {
    return boundary == 3 ? std::optional(range.smallest - 1) : boundary == 5 ? std::optional<Bytes>(-1) : std::nullopt;
  };
  ChangeRecorder recorder;
  const TrainResult result = run_with(options, script, recorder);
  EXPECT_EQ(result.segments.size(), 1U);
  ASSERT_EQ(recorder.notes.size(), 2U);
  EXPECT_NE(recorder.notes[0].find("the smallest that works is " + to_bytes_text(range.smallest)), std::string::npos)
      << recorder.notes[0];
  EXPECT_TRUE(state_of(folder / "steady") == state_of(folder / "refusing"));
}

TEST(Changes, MayComeFromAnyThreadAtAnyTime) {
  const TempFolder folder(fast_parent());
  TrainOptions options = changing_run(folder / "steady");
  run(options);
  const Range range = range_of(options);
  options.out_folder = folder / "hammered";
  BudgetControl control;
  std::atomic<bool> is_done = false;
  std::thread hammer([&] {
    for (std::int64_t number = 0; !is_done; ++number) {
      control.set_budget(random_budget(range, number));
      if (number % 7 == 0) control.ask_status();
      std::this_thread::yield();
    }
  });
  ChangeRecorder recorder;
  run_with(options, control, recorder);
  is_done = true;
  hammer.join();
  EXPECT_GT(recorder.changes(), 0U);
  EXPECT_FALSE(recorder.notes.empty());
  EXPECT_EQ(recorder.iterations.size(), 20U);
  EXPECT_TRUE(state_of(folder / "steady") == state_of(folder / "hammered"));
}

TEST(Changes, StandInTheLogBeforeTheIterationTheyFallInto) {
  const TempFolder folder(fast_parent());
  TrainOptions options = changing_run(folder.path());
  const Range range = range_of(options);
  Script script;
  script.budget_at = [&](std::int64_t boundary) -> std::optional<Bytes> {
    return boundary == 5 ? std::optional(range.smallest) : std::nullopt;
  };
  options.iterations = 4;
  ChangeRecorder recorder;
  run_with(options, script, recorder);
  const std::string log = read_text_file(folder / "metrics.jsonl");
  const std::size_t change = log.find("{\"iteration\":3,\"budget_before_bytes\":null,\"peak_before_bytes\":");
  EXPECT_LT(change, log.find("{\"iteration\":3,\"epoch\"")) << log;
  const std::string bytes = join_text("\"budget_bytes\":", range.smallest, ",\"promised_bytes\":", range.smallest, ",");
  EXPECT_NE(log.find(bytes), std::string::npos) << log;
}

TEST(Changes, OfTheMicrobatchNeedLeaveAndDifferByOrderOfSummationOnly) {
  const TempFolder folder(fast_parent());
  TrainOptions options = changing_run(folder / "steady");
  options.compile.microbatch = 8;
  options.learning_rate.peak = 0.005;
  run(options);
  options.out_folder = folder / "changing";
  options.compile.allowed = {"microbatch-change"};
  const Range range = range_of(options);
  Script script;
  script.budget_at = [&](std::int64_t boundary) -> std::optional<Bytes> {
    if (boundary % 3 != 0) return std::nullopt;
    return boundary % 2 == 0 ? range.smallest : range.largest;
  };
  ChangeRecorder recorder;
  EXPECT_EQ(run_with(options, script, recorder).iterations, 20);
  std::set<std::int64_t> sizes;
  for (const BudgetSegment& segment : recorder.segments) sizes.insert(segment.microbatch);
  EXPECT_GT(sizes.size(), 1U) << "the microbatch never changed";
  EXPECT_LT(relative_distance(weights_of(folder / "changing"), weights_of(folder / "steady")), 1e-4);
}

TEST(Changes, MoveHomesBetweenArenaAndSpillFile) {
  const TempFolder folder(fast_parent());
  TrainOptions options = changing_run("");
  options.compile.model.name = "wrn10-3-gn";  // whose homes take more than the rounding of a reserve
  const Range in_memory = range_of(options);
  allow_offload(options, folder.path());
  const Range range = range_of(options);
  EXPECT_LT(range.smallest, in_memory.smallest);
  options.compile.changing = true;
  const CompileResult result = run(options).compile;
  ASSERT_TRUE(result.compiled);
  options.compile.memory = range.smallest;
  const CompileResult smallest = run(options).compile;
#if defined(__x86_64__)  // what the longer steps of NEON would hide may wait in the file, with room for all
  EXPECT_EQ(result.compiled->plans.spill_bytes, 0);
#endif
  EXPECT_LT(result.compiled->plans.spill_bytes, smallest.compiled->plans.spill_bytes);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Changes, OfTheMicrobatchAndOfHomesGoTogether) {
  const TempFolder folder(fast_parent());
  const TinyDataset dataset(64);
  TrainOptions options = changing_run(folder / "steady");
  options.compile.batch = 32;
  options.compile.microbatch = 32;
  options.learning_rate.peak = 0.005;
  options.iterations = 8;
  run(options, dataset);
  options.out_folder = folder / "changing";
  options.compile.allowed = {"microbatch-change"};
  allow_offload(options, folder.path());
  const Range range = range_of(options, dataset);
  Script script;
  script.budget_at = [&](std::int64_t boundary) { return std::optional(random_budget(range, boundary)); };
  ChangeRecorder recorder;
  EXPECT_EQ(run_with(options, script, recorder, dataset).iterations, 8);
  std::set<std::int64_t> sizes;
  for (const BudgetSegment& segment : recorder.segments) sizes.insert(segment.microbatch);
  EXPECT_GT(sizes.size(), 1U) << "the microbatch never changed";
  EXPECT_LT(relative_distance(weights_of(folder / "changing"), weights_of(folder / "steady")), 1e-4);
}

TEST(Changes, OfTheMicrobatchLeaveAResumedRunFreeToGrow) {
  const TempFolder folder(fast_parent());
  TrainOptions options = changing_run(folder.path());
  options.compile.microbatch.reset();
  options.compile.allowed = {"microbatch-change"};
  options.iterations = 4;
  const Range range = range_of(options);
  options.compile.memory = range.smallest;
  BudgetControl none;
  ChangeRecorder first, second;
  const std::int64_t small = run_with(options, none, first).segments.front().microbatch;
  options.resume = true;
  options.iterations = 8;
  options.compile.memory.reset();
  const TrainResult result = run_with(options, none, second);
  EXPECT_EQ(second.iterations, (std::vector<std::int64_t>{5, 6, 7, 8}));
  EXPECT_LT(small, result.segments.front().microbatch);
}

TEST(Changes, WithoutLeaveTheMicrobatchStays) {
  TrainOptions options = changing_run("");
  const Range range = range_of(options);
  Script script;
  script.budget_at = [&](std::int64_t boundary) { return std::optional(random_budget(range, boundary)); };
  ChangeRecorder recorder;
  run_with(options, script, recorder);
  for (const BudgetSegment& segment : recorder.segments) EXPECT_EQ(segment.microbatch, 4);
}

}  // namespace
}  // namespace thimble::testing
