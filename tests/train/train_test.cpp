// Whole runs of tiny networks: they learn, they end as they should, and they leave behind what they promise.
#include <gtest/gtest.h>

#include "formats/json_lines.h"
#include "train/run_record.h"
#include "train/support.h"

namespace thimble::testing {
namespace {

double mean_loss(const Recorder& recorder, std::size_t first, std::size_t count) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += recorder.iterations[i].loss;
  return sum / static_cast<double>(count);
}

int count_lines(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

TEST(Train, LossFallsForEveryOptimizer) {
  for (const OptimizerKind kind :
       {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::nesterov, OptimizerKind::adamw}) {
    TrainOptions options = short_run("");
    options.iterations = 30;
    options.compile.optimizer.kind = kind;
    if (kind == OptimizerKind::adamw) options.learning_rate.peak = 0.005;
    Recorder recorder;
    const TrainResult result = run(options, TinyDataset(), recorder);
    EXPECT_EQ(result.end, TrainEnd::finished);
    EXPECT_LT(mean_loss(recorder, 25, 5), 0.7 * mean_loss(recorder, 0, 5)) << name_of(kind);
  }
}

TEST(Train, LeNetLearnsWithDropout) {
  TrainOptions options = short_run("", "lenet-300-100");
  options.iterations = 30;
  options.compile.model.dropout = 0.2;
  Recorder recorder;
  const TrainResult result = run(options, TinyDataset(24, 10, 1), recorder);
  EXPECT_LT(mean_loss(recorder, 25, 5), 0.7 * mean_loss(recorder, 0, 5));
  EXPECT_GT(result.test_accuracy.value_or(0), 0.5);
}

TEST(Train, ResultSaysWhatHappened) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder.path());
  options.save_every = 8;
  options.evaluate_every = 10;
  Recorder recorder;
  const TrainResult result = run(options, TinyDataset(), recorder);
  EXPECT_EQ(result.iterations, 20);
  EXPECT_EQ(result.checkpoint, folder / "step-000000020");
  EXPECT_EQ(recorder.checkpoints.size(), 3U) << "after 8, 16 and 20 iterations";
  EXPECT_EQ(recorder.evaluations.size(), 2U);
  EXPECT_EQ(recorder.evaluations[1].accuracy, result.test_accuracy);
  EXPECT_EQ(result.arena_bytes, result.compile.compiled->point.arena_bytes);
  EXPECT_GE(result.peak_resident_bytes, result.arena_bytes);
  EXPECT_GT(result.samples_per_second, 0);
  EXPECT_DOUBLE_EQ(result.train_loss, mean_loss(recorder, 0, 20));
  EXPECT_TRUE(result.compile.compiled->phases.empty()) << "graphs are given back before the first iteration";
}

TEST(Train, FolderHoldsRunLogAndNewestCheckpoints) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder.path());
  options.save_every = 5;
  options.keep_checkpoints = 2;
  run(options);
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"metrics.jsonl", "run.json", "step-000000015", "step-000000020"}));
  EXPECT_EQ(names_in(folder / "step-000000020"), (std::vector<std::string>{"complete.json", "model.safetensors",
                                                                           "state.safetensors", "trainer_state.json"}));
  const std::string log = read_text_file(folder / "metrics.jsonl");
  EXPECT_EQ(count_lines(log), 21) << "an iteration a line and one evaluation";
  EXPECT_NE(log.find("\"iteration\":1,\"epoch\":0.333"), std::string::npos) << log.substr(0, 200);
  EXPECT_NE(log.find("\"test_accuracy\":"), std::string::npos);
  const RunRecord record = read_run(folder.path());
  EXPECT_EQ(record.options.compile.model.name, "wrn10-1-gn");
  EXPECT_EQ(record.microbatch, 4);
  EXPECT_EQ(record.data, "tiny");
}

TEST(Train, WithoutAFolderNothingIsWritten) {
  const TrainResult result = run(short_run(""));
  EXPECT_EQ(result.end, TrainEnd::finished);
  EXPECT_EQ(result.checkpoint, "");
}

TEST(Train, WhatDoesNotFitIsAnOutcomeAndTouchesNothing) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder.path());
  options.compile.memory = kMiB;
  Recorder recorder;
  const TrainResult result = run(options, TinyDataset(), recorder);
  EXPECT_EQ(result.end, TrainEnd::does_not_fit);
  EXPECT_GT(result.compile.smallest_memory, kMiB);
  EXPECT_TRUE(recorder.iterations.empty());
  EXPECT_TRUE(names_in(folder.path()).empty());
}

TEST(Train, ARunThatExceedsItsBudgetSavesAndSaysSo) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder.path());
  options.save_every = 5;
  options.compile.memory = 32 * kMiB;
  // The test's own memory puts the process above the budget, for all its life.
  const std::vector<char> ballast(static_cast<std::size_t>(48 * kMiB), 'x');
  const TrainResult result = run(options);
  EXPECT_EQ(result.end, TrainEnd::over_budget) << ballast.back();
  EXPECT_GT(result.peak_resident_bytes, 32 * kMiB);
  EXPECT_EQ(result.checkpoint, folder / "step-000000005");
}

TEST(Train, StopSavesAndEndsAsInterrupted) {
  const TempFolder folder(fast_parent());
  Recorder recorder;
  recorder.stop_after = 7;
  const TrainResult result = run(short_run(folder.path()), TinyDataset(), recorder);
  EXPECT_EQ(result.end, TrainEnd::interrupted);
  EXPECT_EQ(result.iterations, 7);
  EXPECT_EQ(result.checkpoint, folder / "step-000000007");
}

TEST(Train, DivergenceKeepsTheLastGoodCheckpoint) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder.path());
  options.learning_rate = {.kind = LearningRateKind::steps, .peak = 0.05, .milestones = {10}, .factor = 1e30};
  options.save_every = 5;
  Recorder recorder;
  const TrainResult result = run(options, TinyDataset(), recorder);
  EXPECT_EQ(result.end, TrainEnd::diverged);
  EXPECT_LT(result.iterations, 15);
  EXPECT_EQ(result.checkpoint, folder / "step-000000010");
  EXPECT_EQ(newest_checkpoint(folder.path()), folder / "step-000000010");
  for (const float weight : weights_of(folder.path())) ASSERT_TRUE(std::isfinite(weight));
}

std::string tensor_bytes(const std::string& folder, const std::string& name) {
  const SafetensorsFile file(open_to_read(newest_checkpoint(folder) + "/state.safetensors"));
  const StoredTensor tensor = file.get(name);
  std::string bytes(static_cast<std::size_t>(tensor.bytes), '\0');
  file.read(tensor, 0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

TEST(Train, DynamicSparsityMovesWeightsBetweenTensorsAndStaticDoesNot) {
  const TempFolder folder(fast_parent());
  TrainOptions options = short_run(folder / "start");
  options.compile.sparsity = 0.8;
  options.sparse.period = 2;
  options.sparse.threshold = 0.02;
  options.sparse.prune_target = 1000;
  options.iterations = 1;
  run(options);
  options.iterations = 20;
  for (const auto method : {SparseOptions::Method::fixed, SparseOptions::Method::dynamic}) {
    options.out_folder = folder / (method == SparseOptions::Method::fixed ? "static" : "dynamic");
    options.sparse.method = method;
    run(options);
  }
  const std::string mask = "mask/block3.layer.0.conv2.weight";
  EXPECT_EQ(tensor_bytes(folder / "static", mask), tensor_bytes(folder / "start", mask));
  EXPECT_NE(tensor_bytes(folder / "dynamic", mask), tensor_bytes(folder / "start", mask));
  EXPECT_NE(tensor_bytes(folder / "dynamic", "sparse/table"), tensor_bytes(folder / "start", "sparse/table"));
  const auto nonzeros = [&](const std::string& name) {
    const std::vector<float> weights = weights_of(folder / name);
    return std::count_if(weights.begin(), weights.end(), [](float weight) { return weight != 0; });
  };
  EXPECT_LE(nonzeros("dynamic"), nonzeros("start"));
  EXPECT_GT(nonzeros("dynamic"), nonzeros("start") * 9 / 10);
}

TEST(Train, AFolderWithARunIsNotOverwritten) {
  const TempFolder folder(fast_parent());
  const TrainOptions options = short_run(folder.path());
  run(options);
  const std::string before = state_of(folder.path());
  EXPECT_NE(refusal([&] { run(options); }).find("--resume"), std::string::npos);
  EXPECT_EQ(state_of(folder.path()), before);
}

TEST(Train, ABatchLargerThanTheDataIsRefused) {
  EXPECT_NE(refusal([&] { run(short_run(""), TinyDataset(7)); }).find("7 training samples"), std::string::npos);
}

TEST(Train, EvaluationOfACheckpointGivesTheRunsOwnFigures) {
  const TempFolder folder(fast_parent());
  for (const double sparsity : {0.0, 0.8}) {
    TrainOptions options = short_run(folder / (sparsity > 0 ? "sparse" : "dense"), "wrn10-1");
    options.compile.microbatch.reset();
    options.compile.sparsity = sparsity;
    Recorder recorder;
    const TrainResult result = run(options, TinyDataset(), recorder);
    for (const std::string& weights :
         {result.checkpoint, options.out_folder, result.checkpoint + "/model.safetensors"}) {
      const EvaluationFacts facts =
          evaluate_weights({options.compile, weights}, TinyDataset(), op_table(), cpu_kernels());
      EXPECT_EQ(facts.accuracy, recorder.evaluations.back().accuracy);
      EXPECT_EQ(facts.loss, recorder.evaluations.back().loss);
    }
  }
}

}  // namespace
}  // namespace thimble::testing
