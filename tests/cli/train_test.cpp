#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "cli/run_thimble.h"

namespace thimble::testing {
namespace {

TEST(Train, JsonEndsWithOneObjectOfPlanAndMeasurement) {
  const TempFolder folder;
  const Outcome outcome = run_thimble(tiny_train({"--json", "--out", folder / "run"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json result = outcome.json();
  for (const char* name : {"model", "microbatch", "categories", "reserve", "levers"})
    EXPECT_TRUE(result.contains(name));
  EXPECT_EQ(result.at("arena_bytes"), result.at("tensor_bytes"));
  EXPECT_GT(result.at("peak_rss_bytes").get<double>(), result.at("arena_bytes").get<double>());
  EXPECT_GT(result.at("samples_per_second").get<double>(), 0);
  EXPECT_EQ(result.at("iterations"), 4);
  EXPECT_GT(result.at("train_loss").get<double>(), 0);
  EXPECT_LE(result.at("test_accuracy").get<double>(), 1);
  EXPECT_EQ(result.at("checkpoint"), folder / "run/step-000000004");
}

TEST(Train, InAFileThereAreLinesAndNoCarriageReturns) {
  for (const char* progress : {"auto", "bar", "plain"}) {
    const Outcome outcome = run_thimble(tiny_train({"--progress", progress}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_FALSE(contains(outcome.out, "\r")) << progress;
    EXPECT_FALSE(contains(outcome.out, "\033")) << progress;
    EXPECT_TRUE(contains(outcome.out, "iteration 4/4  loss ")) << outcome.out;
    for (const char* row : {"conventional", "planned", "promised", "measured"}) EXPECT_TRUE(contains(outcome.out, row));
  }
  EXPECT_EQ(run_thimble(tiny_train({"--progress", "none"})).out, "");
}

TEST(Train, WhatDoesNotFitIsRefusedWithCodeThree) {
  const TempFolder folder;
  const Outcome outcome = run_thimble(tiny_train({"--memory", "2MiB", "--json", "--out", folder / "run"}));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_FALSE(outcome.json().at("fits").get<bool>());
  EXPECT_GT(outcome.json().at("smallest_budget_bytes").get<double>(), 2 << 20);
  EXPECT_FALSE(std::filesystem::exists(folder / "run/options.toml"));
}

TEST(Train, DivergenceEndsWithCodeFour) {
  const Outcome outcome = run_thimble(tiny_train({"--lr", "1e30", "--progress", "none"}));
  EXPECT_EQ(outcome.code, 4);
  EXPECT_TRUE(contains(outcome.err, "diverged"));
}

TEST(Train, AFolderWithARunIsNotOverwritten) {
  const TempFolder folder;
  const Words words = tiny_train({"--out", folder / "run", "--progress", "none"});
  EXPECT_EQ(run_thimble(words).code, 0);
  const Outcome again = run_thimble(words);
  EXPECT_EQ(again.code, 1);
  EXPECT_TRUE(contains(again.err, "--resume"));
}

TEST(Train, AnInterruptedRunGoesOnWithItsOptionsToTheSameWeights) {
  const TempFolder folder;
  const auto words = [&](const std::string& run) {
    return Words{"train",      "lenet-300-100", "--data",       "glyphs", "--batch",      "16",   "--threads",
                 "1",          "--steps",       "300",          "--out",  folder / run,   "--lr", "0.02",
                 "--progress", "none",          "--eval-every", "300",    "--save-every", "300"};
  };
  const Outcome interrupted = run_thimble(words("a"), [&](pid_t child) {
    // metrics.jsonl grows with every iteration: by then the loop is running.
    const std::string metrics = folder / "a/metrics.jsonl";
    for (int i = 0; i < 2000; ++i) {
      std::error_code none;
      if (std::filesystem::exists(metrics, none) && std::filesystem::file_size(metrics, none) > 0) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    kill(child, SIGINT);
  });
  ASSERT_EQ(interrupted.code, 130) << interrupted.err;
  EXPECT_TRUE(contains(interrupted.err, "thimble train --resume " + (folder / "a")));
  EXPECT_TRUE(contains(read_text_file(folder / "a/options.toml"), "lr = 0.02"));
  const Outcome resumed = run_thimble({"train", "--resume", folder / "a", "--json"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.json().at("iterations"), 300);
  ASSERT_EQ(run_thimble(words("b")).code, 0);
  EXPECT_FALSE(weights_of(folder / "a", 300).empty());
  EXPECT_TRUE(weights_of(folder / "a", 300) == weights_of(folder / "b", 300));
}

TEST(Train, ClippingIsKeptForAResumeAndTellsTheLengthOfTheGradients) {
  const TempFolder folder;
  write_text_file(folder / "run.toml", "clip-norm = 0.5\n");
  const auto words = [&](const std::string& run, const std::string& steps) {
    return Words{"train",      "lenet-300-100",
                 "--data",     "glyphs",
                 "--batch",    "16",
                 "--threads",  "1",
                 "--steps",    steps,
                 "--out",      folder / run,
                 "--lr",       "0.02",
                 "--progress", "none",
                 "--config",   folder / "run.toml"};
  };
  ASSERT_EQ(run_thimble(words("a", "3")).code, 0);
  EXPECT_TRUE(contains(read_text_file(folder / "a/options.toml"), "clip-norm = 0.5"));
  const Outcome resumed = run_thimble({"train", "--resume", folder / "a", "--steps", "6", "--progress", "none"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  ASSERT_EQ(run_thimble(words("b", "6")).code, 0);
  EXPECT_FALSE(weights_of(folder / "b", 6).empty());
  EXPECT_TRUE(weights_of(folder / "a", 6) == weights_of(folder / "b", 6));
  std::ifstream metrics(folder / "a/metrics.jsonl");
  int lines = 0;
  for (std::string line; std::getline(metrics, line);) {
    const nlohmann::json facts = nlohmann::json::parse(line);
    if (!facts.contains("loss")) continue;
    ++lines;
    EXPECT_GT(facts.at("gradient_norm").get<double>(), 0);
  }
  EXPECT_EQ(lines, 6);
  ASSERT_EQ(run_thimble(tiny_train({"--out", folder / "c", "--progress", "none"})).code, 0);
  EXPECT_FALSE(contains(read_text_file(folder / "c/metrics.jsonl"), "gradient_norm"));
}

TEST(Train, AResumeThatWouldBeAnotherRunIsRefused) {
  const TempFolder folder;
  const std::string run = folder / "run";
  ASSERT_EQ(run_thimble(tiny_train({"--out", run, "--progress", "none"})).code, 0);
  struct Mistake {
    Words words;
    std::string said;
  };
  const std::vector<Mistake> mistakes = {
      {{"train", "wrn10-1", "--resume", run}, "model was \"lenet-300-100\", is \"wrn10-1\""},
      {{"train", "--resume", run, "--batch", "32"}, "batch was 16, is 32"},
      {{"train", "--resume", run, "--optimizer", "sgd"}, "optimizer was \"momentum\", is \"sgd\""},
      {{"train", "--resume", run, "--sparsity", "0.5"}, "sparsity was 0, is 0.5"},
      {{"train", "--resume", run, "--weights", "any"}, "--weights: a resumed run goes on with its own weights"},
      {{"train", "--resume", run + "/step-000000004"}, "found a single checkpoint, wanted the folder above it"},
  };
  const std::string weights = weights_of(run, 4);
  for (const Mistake& mistake : mistakes) {
    const Outcome outcome = run_thimble(mistake.words);
    EXPECT_EQ(outcome.code, 1) << mistake.said;
    EXPECT_TRUE(contains(outcome.err, mistake.said)) << outcome.err;
  }
  EXPECT_TRUE(weights_of(run, 4) == weights);
}

TEST(Eval, MeasuresACheckpoint) {
  const TempFolder folder;
  const Outcome trained = run_thimble(tiny_train({"--json", "--out", folder / "run"}));
  const Outcome outcome = run_thimble({"eval", "lenet-300-100", "--data", "glyphs", "--threads", "1", "--json",
                                       "--weights", trained.json().at("checkpoint")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().at("accuracy"), trained.json().at("test_accuracy"));
}

}  // namespace
}  // namespace thimble::testing
