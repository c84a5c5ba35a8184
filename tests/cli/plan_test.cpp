#include <gtest/gtest.h>

#include <sstream>

#include <cstdint>

#include "cli/run_thimble.h"

namespace thimble::testing {
namespace {

// Small enough to be planned in a moment, and with norms, shortcuts and something to recompute.
const Words kPlan = {"plan", "wrn10-1-gn", "--batch", "16", "--threads", "1", "--isa", "generic"};

std::int64_t sum_of(const nlohmann::json& object) {
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : object.items()) sum += bytes.get<std::int64_t>();
  return sum;
}

void expect_plan_fields(const nlohmann::json& plan) {
  for (const char* name : {"model", "batch", "microbatch", "fits", "budget_bytes", "tensor_bytes", "baseline_bytes",
                           "lower_bound_bytes", "process_bytes", "categories", "reserve", "recompute_flops_ratio",
                           "flops_per_sample", "steps", "passes", "levers"}) {
    EXPECT_TRUE(plan.contains(name)) << name;
  }
  const nlohmann::json& categories = plan.at("categories");
  for (const char* name : {"parameters", "gradients", "optimizer", "activations", "workspace", "input", "slack"}) {
    EXPECT_GE(categories.at(name).get<std::int64_t>(), 0) << name;
  }
  for (const char* name : {"code", "libraries", "heap", "stacks", "tables", "margin"}) {
    EXPECT_GE(plan.at("reserve").at(name).get<std::int64_t>(), 0) << name;
  }
  EXPECT_EQ(sum_of(categories), plan.at("tensor_bytes").get<std::int64_t>());
  EXPECT_EQ(plan.at("tensor_bytes").get<std::int64_t>() + sum_of(plan.at("reserve")),
            plan.at("process_bytes").get<std::int64_t>());
  EXPECT_LE(plan.at("lower_bound_bytes"), plan.at("tensor_bytes"));
}

TEST(Plan, JsonHasEveryFieldAndItsSumsAreRight) {
  const Outcome outcome = run_thimble(with(kPlan, {"--json"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json plan = outcome.json();
  expect_plan_fields(plan);
  EXPECT_EQ(plan.at("model"), "wrn10-1-gn");
  EXPECT_EQ(plan.at("batch"), 16);
  EXPECT_TRUE(plan.at("fits").get<bool>());
  EXPECT_TRUE(plan.at("budget_bytes").is_null());
  EXPECT_GT(plan.at("flops_per_sample").get<double>(), 1e6);
}

TEST(Plan, KernelsAreOurOwn) {
  const Outcome plain = run_thimble(with(kPlan, {"--json"})),
                native = run_thimble(with(kPlan, {"--json", "--kernels", "native"}));
  EXPECT_EQ(native.code, 0) << native.err;
  EXPECT_EQ(native.json().at("tensor_bytes"), plain.json().at("tensor_bytes"));
  const Outcome foreign = run_thimble(with(kPlan, {"--kernels", "onednn"}));
  EXPECT_EQ(foreign.code, 1);
  EXPECT_TRUE(contains(foreign.err, "--kernels: found 'onednn', wanted one of native")) << foreign.err;
}

TEST(Plan, TheSmallestBudgetFitsAndOneByteLessDoesNot) {
  const Outcome refused = run_thimble(with(kPlan, {"--memory", "1MiB", "--json"}));
  EXPECT_EQ(refused.code, 3);
  EXPECT_TRUE(contains(refused.err, "Does not fit"));
  const nlohmann::json smallest = refused.json();
  expect_plan_fields(smallest);
  EXPECT_FALSE(smallest.at("fits").get<bool>());
  EXPECT_EQ(smallest.at("smallest_tensor_bytes"), smallest.at("tensor_bytes"));
  EXPECT_EQ(smallest.at("smallest_budget_bytes"), smallest.at("process_bytes"));

  const auto budget = smallest.at("smallest_budget_bytes").get<std::int64_t>();
  const Outcome fits = run_thimble(with(kPlan, {"--json", "--memory", std::to_string(budget) + "B"}));
  EXPECT_EQ(fits.code, 0);
  EXPECT_LE(fits.json().at("process_bytes").get<std::int64_t>(), budget);
  EXPECT_EQ(run_thimble(with(kPlan, {"--json", "--memory", std::to_string(budget - 1) + "B"})).code, 3);
}

TEST(Plan, ARefusalNamesTheSmallestBudgetTheTensorsAndTheWaysOut) {
  const Outcome outcome = run_thimble({"plan", "wrn10-1", "--batch", "16", "--threads", "1", "--memory", "3MiB"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(contains(outcome.out, "Does not fit 3,145,728 B (3.0 MiB): the smallest budget that works is "));
  EXPECT_TRUE(contains(outcome.out, "Alive at the peak"));
  EXPECT_TRUE(contains(outcome.out, "--allow microbatch-norm"));
  EXPECT_TRUE(contains(outcome.out, "wrn10-1-gn (group norm)"));
}

TEST(Plan, ForPeopleShowsCategoriesReserveAndWhatIsAlive) {
  const std::string text = run_thimble(with(kPlan, {"--memory", "100MiB"})).out;
  for (const char* part : {"Fits 104,857,600 B", "activations", "lower bound", "baseline", "libraries", "process",
                           "Levers in use", "Alive at the peak", "group_norm_grad"}) {
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  }
}

TEST(Plan, ExplainShowsPassesAndKernels) {
  const std::string text = run_thimble(with(kPlan, {"--explain", "--skip-pass", "fuse_norm_activation"})).out;
  EXPECT_TRUE(contains(text, "fuse_norm_activation  skipped"));
  EXPECT_TRUE(contains(text, "conv2d_grad_weight"));
  EXPECT_TRUE(contains(text, "reference"));
}

TEST(Plan, TakesTheOptionsOfTrain) {
  const Outcome outcome =
      run_thimble(with(kPlan, {"--lr", "0.1", "--epochs", "3", "--out", "nowhere", "--progress", "none"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists("nowhere"));
}

TEST(Plan, AShareIsTakenOfTheLimit) {
  const auto budget = [](const char* text) {
    return run_thimble(with(kPlan, {"--json", "--memory", text})).json().at("budget_bytes").get<double>();
  };
  EXPECT_NEAR(budget("50%"), budget("auto") / 2, 1);
}

TEST(Explore, IsAFrontAndEachPointHasItsCommand) {
  const Outcome outcome = run_thimble({"explore", "wrn10-1-gn", "--batch", "16", "--threads", "1", "--json"});
  EXPECT_EQ(outcome.code, 0);
  const nlohmann::json front = outcome.json().at("points");
  ASSERT_GT(front.size(), 5U);
  EXPECT_EQ(front.at(0).at("time_ratio"), 1.0);
  for (std::size_t i = 1; i < front.size(); ++i) {
    EXPECT_GE(front.at(i).at("seconds").get<double>(), front.at(i - 1).at("seconds").get<double>());
    EXPECT_LT(front.at(i).at("process_bytes").get<double>(), front.at(i - 1).at("process_bytes").get<double>());
    EXPECT_TRUE(front.at(i).at("lossless").get<bool>());
  }
  EXPECT_LT(front.back().at("microbatch").get<int>(), 16);
  const nlohmann::json& last = front.back();
  EXPECT_EQ(last.at("command"), "thimble train wrn10-1-gn --data NAME --batch 16 --threads 1 --memory " +
                                    std::to_string(last.at("process_bytes").get<std::int64_t>()) + "B");
}

// The words behind "thimble train", as a plan without data.
Words plan_words(const std::string& command) {
  Words words = {"plan"};
  std::istringstream text(command);
  std::string word;
  text >> word >> word;
  while (text >> word) {
    if (word == "--data") {
      text >> word;
    } else {
      words.push_back(word);
    }
  }
  words.emplace_back("--json");
  return words;
}

TEST(Explore, TheCommandOfAPointMakesItsPlan) {
  const nlohmann::json front =
      run_thimble({"explore", "wrn10-1", "--batch", "8", "--threads", "1", "--allow", "microbatch-norm", "--json"})
          .json()
          .at("points");
  int lossless = 0, lossy = 0;
  for (std::size_t i = 0; i < front.size(); i += 1 + front.size() / 8) {
    const nlohmann::json& point = front.at(i);
    const nlohmann::json plan = run_thimble(plan_words(point.at("command"))).json();
    EXPECT_TRUE(plan.at("fits").get<bool>()) << point.at("command");
    EXPECT_EQ(plan.at("process_bytes"), point.at("process_bytes")) << point.at("command");
    EXPECT_EQ(plan.at("microbatch"), point.at("microbatch")) << point.at("command");
    (point.at("lossless").get<bool>() ? lossless : lossy) += 1;
  }
  EXPECT_GT(lossless, 0);
  EXPECT_GT(lossy, 0);
}

TEST(Explore, MarksThePointThatABudgetTakes) {
  const Outcome outcome = run_thimble({"explore", "wrn10-1-gn", "--batch", "16", "--threads", "1", "--memory", "1GiB"});
  EXPECT_TRUE(contains(outcome.out, "<- 1024.0 MiB takes this one"));
  EXPECT_TRUE(contains(outcome.out, "what the search adds to the best strategy"));
}

TEST(Explore, ANamedStrategyHasItsOwnFront) {
  for (const std::string name : {"chen", "block", "sage", "greedy", "none"}) {
    const nlohmann::json front =
        run_thimble({"explore", "wrn10-1", "--batch", "16", "--threads", "1", "--recompute", name, "--json"})
            .json()
            .at("points");
    ASSERT_GE(front.size(), name == "none" ? 1U : 2U) << name;
    EXPECT_EQ(front.at(0).at("strategy"), "keep all");
    for (std::size_t i = 1; i < front.size(); ++i) {
      const std::string strategy = front.at(i).at("strategy");
      EXPECT_TRUE(strategy.starts_with(name) || (name == "chen" && strategy == "cheap")) << strategy;
      EXPECT_TRUE(contains(front.at(i).at("command"), "--recompute " + name)) << strategy;
    }
  }
}

TEST(Explore, DrawsAndComparesFronts) {
  const TempFolder folder;
  const Words words = {"explore", "lenet-300-100", "--batch", "64", "--threads", "1"};
  const Outcome drawn = run_thimble(with(words, {"--json", "--svg", folder / "front.svg"}));
  ASSERT_EQ(drawn.code, 0) << drawn.err;
  const std::string svg = read_text_file(folder / "front.svg");
  std::size_t count = 0;
  for (std::size_t at = svg.find(" point\""); at != std::string::npos; at = svg.find(" point\"", at + 1)) ++count;
  EXPECT_EQ(count, drawn.json().at("points").size());

  write_text_file(folder / "f32.json", drawn.out);
  write_text_file(folder / "bf16.json", run_thimble(with(words, {"--json", "--precision", "bf16"})).out);
  const Outcome compared = run_thimble({"explore", "--compare", (folder / "f32.json") + "," + (folder / "bf16.json")});
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_TRUE(contains(compared.out, "Time within the same bytes"));
  EXPECT_TRUE(contains(compared.out, "Bytes within the same time"));
  const nlohmann::json same = run_thimble(with(words, {"--json", "--compare", folder / "f32.json"})).json();
  for (const nlohmann::json& row : same.at("equal_bytes")) EXPECT_EQ(row.at("a_seconds"), row.at("b_seconds"));
  for (const nlohmann::json& row : same.at("equal_time"))
    EXPECT_EQ(row.at("a_process_bytes"), row.at("b_process_bytes"));
}

TEST(Explore, WhatCannotBeComparedOrDrawnIsNamed) {
  const TempFolder folder;
  write_text_file(folder / "bad.json", "{\"points\": [{\"process_bytes\": -5, \"seconds\": 1}]}");
  const std::pair<Words, std::string> mistakes[] = {
      {{"explore", "--compare", "nowhere.json"}, "found 1 files, wanted two, or one beside a model"},
      {{"explore", "--compare", "nowhere.json,other.json"}, "cannot read nowhere.json"},
      {{"explore", "lenet-300-100", "--compare", "a.json,b.json"}, "found 2 files, wanted one beside a model"},
      {{"explore", "lenet-300-100", "--compare", folder / "bad.json"}, "found -5 process_bytes"},
      {{"explore", "lenet-300-100", "--compare", "/proc/self/mem"}, "/proc/self/mem"},
      {{"explore", "lenet-300-100", "--recompute", "checkmate"}, "found 'checkmate'"},
      {{"explore", "--svg", "x.svg", "--compare", "a.json,b.json"}, "goes with a model"},
      {{"explore", "lenet-300-100", "--batch", "4", "--svg", "/proc/self/none/x.svg"}, "/proc/self/none"},
  };
  for (const auto& [words, said] : mistakes) {
    const Outcome outcome = run_thimble(words);
    EXPECT_EQ(outcome.code, 1) << said;
    EXPECT_TRUE(contains(outcome.err, said)) << outcome.err;
  }
}

}  // namespace
}  // namespace thimble::testing
