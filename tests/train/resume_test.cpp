// Stopped and continued, a run ends in the same bits as without a stop; a run that is not the same is refused by name.
#include <gtest/gtest.h>

#include <csignal>

#include "train/run_record.h"
#include "train/support.h"

namespace thimble::testing {
namespace {

struct ResumeCase {
  std::string name;
  std::string model = "wrn10-1-gn";
  OptimizerKind optimizer = OptimizerKind::momentum;
  std::int64_t microbatch = 8;
  DType precision = DType::f32;
  Master master = Master::f32;
  double sparsity = 0;
  double clip_norm = 0;
};

void PrintTo(const ResumeCase& c, std::ostream* out) { *out << c.name; }

TrainOptions options_for(const ResumeCase& c, const std::string& folder) {
  TrainOptions options = short_run(folder, c.model);
  CompileRequest& request = options.compile;
  request.optimizer.kind = c.optimizer;
  request.optimizer.weight_decay = 1e-3;
  request.optimizer.clip_norm = c.clip_norm;
  request.microbatch = c.microbatch;
  request.precision = c.precision;
  request.master = c.master;
  request.sparsity = c.sparsity;
  request.model.dropout = 0.1;
  if (c.optimizer == OptimizerKind::adamw) options.learning_rate.peak = 0.005;
  options.sparse.period = 2;  // every 2, 4, 8 and 16 iterations: 16 of 20 lie on a rewiring
  options.sparse.threshold = 0.02;
  return options;
}

class Resume : public ::testing::TestWithParam<ResumeCase> {};

TEST_P(Resume, TwoHalvesEndInTheBitsOfTheWhole) {
  const TempFolder folder(fast_parent());
  const TinyDataset dataset(21);  // 21 samples in batches of 8: the last batch of an epoch is ragged
  run(options_for(GetParam(), folder / "whole"), dataset);
  TrainOptions halves = options_for(GetParam(), folder / "halves");
  Recorder first, second;
  first.stop_after = 4;  // a rewiring falls on it
  EXPECT_EQ(run(halves, dataset, first).end, TrainEnd::interrupted);
  halves.resume = true;
  halves.compile.microbatch.reset();  // taken from the checkpoint
  const TrainResult result = run(halves, dataset, second);
  EXPECT_EQ(result.end, TrainEnd::finished);
  EXPECT_EQ(second.iterations.front().iteration, 5);
  EXPECT_EQ(result.compile.compiled->microbatch, GetParam().microbatch);
  EXPECT_TRUE(state_of(folder / "whole") == state_of(folder / "halves"));
  EXPECT_EQ(weights_of(folder / "whole"), weights_of(folder / "halves"));
}

INSTANTIATE_TEST_SUITE_P(
    Runs, Resume,
    ::testing::Values(
        ResumeCase{.name = "sgd", .optimizer = OptimizerKind::sgd},
        ResumeCase{.name = "sgd_by_1", .optimizer = OptimizerKind::sgd, .microbatch = 1},
        ResumeCase{.name = "sgd_by_3", .optimizer = OptimizerKind::sgd, .microbatch = 3},
        ResumeCase{.name = "momentum"},  //
        ResumeCase{.name = "momentum_by_1", .microbatch = 1}, ResumeCase{.name = "momentum_by_3", .microbatch = 3},
        ResumeCase{.name = "nesterov", .optimizer = OptimizerKind::nesterov},
        ResumeCase{.name = "nesterov_by_1", .optimizer = OptimizerKind::nesterov, .microbatch = 1},
        ResumeCase{.name = "nesterov_by_3", .optimizer = OptimizerKind::nesterov, .microbatch = 3},
        ResumeCase{.name = "adamw", .optimizer = OptimizerKind::adamw},
        ResumeCase{.name = "adamw_by_1", .optimizer = OptimizerKind::adamw, .microbatch = 1},
        ResumeCase{.name = "adamw_by_3", .optimizer = OptimizerKind::adamw, .microbatch = 3},
        ResumeCase{.name = "batch_norm", .model = "wrn10-1"}, ResumeCase{.name = "bf16", .precision = DType::bf16},
        ResumeCase{
            .name = "bf16_adamw_by_3", .optimizer = OptimizerKind::adamw, .microbatch = 3, .precision = DType::bf16},
        ResumeCase{.name = "bf16_without_master", .precision = DType::bf16, .master = Master::none},
        ResumeCase{.name = "bf16_without_master_by_3",
                   .optimizer = OptimizerKind::nesterov,
                   .microbatch = 3,
                   .precision = DType::bf16,
                   .master = Master::none},
        ResumeCase{.name = "clipped", .clip_norm = 0.5},
        ResumeCase{.name = "clipped_sparse_adamw_by_3",
                   .optimizer = OptimizerKind::adamw,
                   .microbatch = 3,
                   .sparsity = 0.5,
                   .clip_norm = 0.5},
        ResumeCase{.name = "sparse", .sparsity = 0.8},
        ResumeCase{
            .name = "sparse_nesterov_by_3", .optimizer = OptimizerKind::nesterov, .microbatch = 3, .sparsity = 0.9},
        ResumeCase{.name = "sparse_adamw_by_3", .optimizer = OptimizerKind::adamw, .microbatch = 3, .sparsity = 0.5},
        ResumeCase{.name = "sparse_bf16_without_master_by_3",
                   .microbatch = 3,
                   .precision = DType::bf16,
                   .master = Master::none,
                   .sparsity = 0.8}),
    [](const auto& parameter) { return parameter.param.name; });

// A run of 20 iterations, stopped after 6 and saved there.
class Continuation : public ::testing::Test {
 protected:
  Continuation() : folder_(fast_parent()), options_(short_run(folder_.path())) {
    recorder_.stop_after = 6;
    run(options_, dataset_, recorder_);
    options_.resume = true;
  }

  std::string note_with(const std::string& part) {
    Recorder recorder;
    recorder.stop = stops_at_once_;
    run(options_, dataset_, recorder);
    for (const std::string& note : recorder.notes) {
      if (note.find(part) != std::string::npos) return note;
    }
    return "";
  }

  TempFolder folder_;
  TinyDataset dataset_;
  TrainOptions options_;
  Recorder recorder_;
  bool stops_at_once_ = false;
};

TEST_F(Continuation, RefusesAnotherRunAndNamesAllThatDiffers) {
  TrainOptions other = options_;
  other.compile.model.name = "wrn16-1-gn";
  other.compile.batch = 16;
  other.compile.optimizer.kind = OptimizerKind::adamw;
  other.compile.precision = DType::bf16;
  other.compile.sparsity = 0.5;
  other.seed = 4;
  const std::string message = refusal([&] { run(other, dataset_); });
  for (const char* part :
       {"model was \"wrn10-1-gn\", is \"wrn16-1-gn\"", "batch was 8, is 16", "optimizer was \"momentum\"",
        "precision was \"f32\"", "sparsity was 0, is 0.5", "seed was \"3\", is \"4\""}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
  EXPECT_NE(refusal([&] { run(options_, TinyDataset(32)); }).find("train_samples was 24, is 32"), std::string::npos);
}

TEST_F(Continuation, SaysWhatEndsBitEquality) {
  options_.compile.microbatch = 2;
  options_.compile.target.threads = 2;
  stops_at_once_ = true;
  const std::string note = note_with("with changes");
  EXPECT_NE(note.find("microbatch was 4, is 2"), std::string::npos) << note;
  EXPECT_NE(note.find("threads was 1, is 2"), std::string::npos) << note;
}

TEST_F(Continuation, OfTheSameRunHasNothingToSayOfChanges) { EXPECT_EQ(note_with("with changes"), ""); }

TEST_F(Continuation, CutsTheLogBackToTheCheckpoint) {
  std::string log = read_text_file(folder_ / "metrics.jsonl");
  const std::string later = JsonObject().integer("iteration", 7).integer("loss", 123456).to_string() + "\n";
  write_text_file(folder_ / "metrics.jsonl", log + later + later.substr(0, 9));  // a whole line and a torn one
  run(options_, dataset_);
  log = read_text_file(folder_ / "metrics.jsonl");
  EXPECT_EQ(log.find("123456"), std::string::npos);
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 21) << "20 iterations and an evaluation";
}

TEST_F(Continuation, PassesOverADamagedCheckpointAndSaysSo) {
  TrainOptions more = options_;
  Recorder recorder;
  recorder.stop_after = 12;
  run(more, dataset_, recorder);
  std::string state = read_text_file(folder_ / "step-000000012/state.safetensors");
  state.back() = static_cast<char>(state.back() ^ 1);
  write_text_file(folder_ / "step-000000012/state.safetensors", state);
  EXPECT_NE(note_with("passed over").find("step-000000012"), std::string::npos);
  EXPECT_EQ(newest_checkpoint(folder_.path()), folder_ / "step-000000020");
}

TEST_F(Continuation, OfAFinishedRunOnlyEvaluates) {
  run(options_, dataset_);
  Recorder recorder;
  const TrainResult result = run(options_, dataset_, recorder);
  EXPECT_EQ(result.end, TrainEnd::finished);
  EXPECT_TRUE(recorder.iterations.empty());
  EXPECT_TRUE(result.test_accuracy.has_value());
  EXPECT_GT(result.train_loss, 0);
}

TEST_F(Continuation, StoppedAtOnceWritesNothingNew) {
  Recorder recorder;
  recorder.stop = true;
  const TrainResult result = run(options_, dataset_, recorder);
  EXPECT_EQ(result.end, TrainEnd::interrupted);
  EXPECT_EQ(result.checkpoint, folder_ / "step-000000006");
  EXPECT_TRUE(recorder.checkpoints.empty());
}

// Ends its process without a word, as a power failure would.
class Killer final : public TrainObserver {
 public:
  Killer(std::int64_t iteration, std::size_t checkpoint) : iteration_(iteration), checkpoint_(checkpoint) {}
  void on_iteration(const IterationFacts& facts) override {
    if (facts.iteration == iteration_) ::raise(SIGKILL);
  }
  void on_checkpoint(const std::string&) override {
    if (++seen_ == checkpoint_) ::raise(SIGKILL);
  }

 private:
  std::int64_t iteration_;
  std::size_t checkpoint_, seen_ = 0;
};

TEST(Killed, RunsContinueToTheSameBits) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder / "whole");
  options.compile.sparsity = 0.8;
  options.save_every = 4;
  run(options);
  int number = 0;
  for (const auto& [iteration, checkpoint] : {std::pair<std::int64_t, std::size_t>{3, 0}, {9, 0}, {0, 2}, {20, 0}}) {
    options.out_folder = folder / std::to_string(number++);
    Killer killer(iteration, checkpoint);
    const std::string answer = answer_of_child([&] {
      const std::atomic<bool> never = false;
      train(options, TinyDataset(), op_table(), cpu_kernels(), killer, never);
      return std::string("lived");
    });
    EXPECT_EQ(answer, "the child died");
    TrainOptions again = options;
    again.resume = true;
    EXPECT_EQ(run(again).end, TrainEnd::finished);
    EXPECT_TRUE(state_of(options.out_folder) == state_of(folder / "whole")) << iteration << ", " << checkpoint;
  }
}

TEST(Resumed, EmptyFolderStartsFromTheBeginning) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder.path());
  options.resume = true;
  Recorder recorder;
  EXPECT_EQ(run(options, TinyDataset(), recorder).iterations, 20);
  EXPECT_NE(recorder.notes.front().find("no complete checkpoint"), std::string::npos);
}

TEST(RunRecord, ReadsBackAsItWasWritten) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder.path());
  options.seed = 0xfedcba9876543210U;
  options.learning_rate = {.kind = LearningRateKind::steps, .peak = 0.1, .milestones = {10, 15}, .factor = 1.0 / 3};
  options.compile.allowed = {"microbatch-norm"};
  options.compile.memory = 123 * kMiB;
  const RunRecord written = record_of(options, TinyDataset().info(), 4);
  publish_run(written, folder.path());
  const RunRecord read = read_run(folder.path());
  const Differences differences = compare(written, read);
  EXPECT_EQ(to_text(differences.forbidden), "");
  EXPECT_EQ(to_text(differences.noted), "");
  EXPECT_EQ(read.options.compile.memory, 123 * kMiB);
  EXPECT_EQ(read.options.learning_rate.milestones, (std::vector<std::int64_t>{10, 15}));
  EXPECT_EQ(read.options.compile.allowed, options.compile.allowed);
}

TEST(RunRecord, OfARunFromBeforeThereWasClippingHasNone) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder.path());
  options.compile.optimizer.clip_norm = 0.25;
  publish_run(record_of(options, TinyDataset().info(), 4), folder.path());
  EXPECT_EQ(read_run(folder.path()).options.compile.optimizer.clip_norm, 0.25);
  std::string text = read_text_file(folder / "run.json");
  const std::string field = "\"clip_norm\":0.25,";
  ASSERT_NE(text.find(field), std::string::npos) << text;
  write_text_file(folder / "run.json", text.erase(text.find(field), field.size()));
  EXPECT_EQ(read_run(folder.path()).options.compile.optimizer.clip_norm, 0);
}

TEST(RunRecord, OfARunFromBeforeCostsWereMeasuredHasTheModels) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder.path());
  options.compile.cost = CostSource::measured;
  publish_run(record_of(options, TinyDataset().info(), 4), folder.path());
  EXPECT_EQ(read_run(folder.path()).options.compile.cost, CostSource::measured);
  std::string text = read_text_file(folder / "run.json");
  const std::string field = "\"cost\":\"measured\",";
  ASSERT_NE(text.find(field), std::string::npos) << text;
  write_text_file(folder / "run.json", text.erase(text.find(field), field.size()));
  EXPECT_EQ(read_run(folder.path()).options.compile.cost, CostSource::model);
}

TEST(RunRecord, AListOfOtherFilesIsAnotherDataSet) {
  DatasetInfo data = TinyDataset().info(), other = data;
  data.contents = "1a";
  other.contents = "2b";
  const Differences differences = compare(record_of(short_run(""), data, 4), record_of(short_run(""), other, 4));
  EXPECT_EQ(to_text(differences.forbidden), "data was \"tiny #1a\", is \"tiny #2b\"");
}

TEST(RunRecord, RefusesWhatMakesNoSense) {
  const TempFolder folder(fast_parent());
  publish_run(record_of(short_run(""), TinyDataset().info(), 4), folder.path());
  const std::string good = read_text_file(folder / "run.json");
  const auto refusal_with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    write_text_file(folder / "run.json", text);
    return refusal([&] { read_run(folder.path()); });
  };
  EXPECT_NE(refusal_with("\"microbatch\":4", "\"microbatch\":9").find("microbatch 9"), std::string::npos);
  EXPECT_NE(refusal_with("\"momentum\",", "\"rmsprop\",").find("'rmsprop'"), std::string::npos);
  EXPECT_NE(refusal_with("\"batch\":8,", "").find("does not state 'batch'"), std::string::npos);
  EXPECT_NE(refusal_with("\"version\":1", "\"version\":2").find("version 2"), std::string::npos);
  EXPECT_NE(refusal_with("\"batch\":8", "\"batch\":[8]").find("nested"), std::string::npos);
}

TEST(RunRecord, NamesTheStrategyAndReadsRunsFromBeforeItHadAName) {
  const auto read_back = [](const std::string& text) {
    const ByteSource source = memory_source(bytes_of_text(text), "run.json");
    return read_record(FlatJson(source)).options.compile.recompute;
  };
  RunRecord record;
  record.microbatch = record.options.compile.batch;
  record.options.compile.recompute = Recompute::greedy;
  JsonObject object;
  write_record(record, object);
  const std::string text = object.to_string(), named = "\"recompute\":\"greedy\"";
  ASSERT_NE(text.find(named), std::string::npos) << text;
  const auto with = [&](const std::string& value) {
    std::string changed = text;
    return changed.replace(changed.find(named), named.size(), "\"recompute\":" + value);
  };
  EXPECT_EQ(read_back(text), Recompute::greedy);
  EXPECT_EQ(read_back(with("true")), Recompute::automatic);
  EXPECT_EQ(read_back(with("false")), Recompute::none);
  EXPECT_THROW(read_back(with("\"checkmate\"")), UserError);
  EXPECT_THROW(read_back(with("7")), UserError);
}

}  // namespace
}  // namespace thimble::testing
