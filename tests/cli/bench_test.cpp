#include <gtest/gtest.h>

#include <algorithm>

#include "cli/run_thimble.h"

namespace thimble::testing {
namespace {

const Words kBench = {"bench",     "wrn10-1-gn", "--batch",      "8", "--input", "16x16x3",
                      "--threads", "1",          "--iterations", "2"};

// The user's own cache is no place for a test's costs.
Outcome run_cached(const Words& words, const std::string& cache) {
  return run_thimble(words, {}, [&] { ::setenv("XDG_CACHE_HOME", cache.c_str(), 1); });
}

TEST(Bench, ForPeopleShowsRoofsOpsAndKernels) {
  const TempFolder cache;
  const Outcome outcome = run_cached(kBench, cache / "");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* part :
       {"wrn10-1-gn, batch 8", "Roofs, measured: ", "GFLOP/s in f32", "GB/s of memory", "An iteration takes ", "By op",
        "between steps", "By kernel and operands", "conv2d_grad_input", "[8,16,16,16]", "of roof"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << "\n" << outcome.out;
  }
}

TEST(Bench, JsonHasEveryFigureAndItsSumsAreRight) {
  const TempFolder cache;
  const Outcome outcome = run_cached(with(kBench, {"--json"}), cache / "");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json bench = outcome.json();
  EXPECT_EQ(bench.at("model"), "wrn10-1-gn");
  EXPECT_EQ(bench.at("batch"), 8);
  EXPECT_EQ(bench.at("threads"), 1);
  EXPECT_EQ(bench.at("iterations"), 2);
  EXPECT_GT(bench.at("roofs").at("flops_per_second").get<double>(), 0);
  EXPECT_GT(bench.at("roofs").at("bytes_per_second").get<double>(), 0);
  EXPECT_GE(bench.at("iteration_seconds").get<double>(), bench.at("step_seconds").get<double>() / 2);
  for (const char* list : {"ops", "kernels"}) {
    std::int64_t calls = 0;
    for (const nlohmann::json& row : bench.at(list)) {
      calls += row.at("calls").get<std::int64_t>();
      for (const char* name : {"seconds", "share", "flops", "bytes", "flops_per_second", "bytes_per_second",
                               "roof_seconds", "share_of_roof", "predicted_seconds"}) {
        EXPECT_GE(row.at(name).get<double>(), 0) << name;
      }
      EXPECT_EQ(row.contains("use"), list == std::string("kernels"));
    }
    EXPECT_EQ(calls, bench.at("steps").get<std::int64_t>()) << list;
  }
}

TEST(Bench, TakesATrainCommandAndMeasuresItsPlan) {
  const TempFolder cache;
  const Words options = {"lenet-300-100", "--data", "glyphs", "--batch", "16",    "--threads", "1",
                         "--lr",          "0.1",    "--out",  "nowhere", "--json"};
  const Outcome bench = run_cached(with({"bench"}, options), cache / "");
  ASSERT_EQ(bench.code, 0) << bench.err;
  EXPECT_FALSE(std::filesystem::exists("nowhere"));
  const nlohmann::json plan = run_thimble(with({"plan"}, options)).json();
  EXPECT_EQ(bench.json().at("microbatch"), plan.at("microbatch"));
  EXPECT_EQ(bench.json().at("iterations"), 5);
}

TEST(Bench, WhatDoesNotFitIsRefusedAsPlanDoes) {
  const Outcome outcome = run_thimble(with(kBench, {"--memory", "1MiB", "--json"}));
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(contains(outcome.err, "Does not fit"));
  EXPECT_FALSE(outcome.json().at("fits").get<bool>());
}

TEST(Bench, MistakesAreNamed) {
  const std::pair<Words, std::string> mistakes[] = {
      {{"bench"}, "found no model"},
      {{"bench", "lenet-300-100", "--iterations", "0"}, "--iterations: found '0'"},
      {{"bench", "lenet-300-100", "--iterations", "1000000"}, "less than 10001"},
      {{"bench", "lenet-300-100", "--resume", "x"}, "'bench' has no option '--resume': it belongs to train"},
      {{"plan", "lenet-300-100", "--iterations", "3"}, "'plan' has no option '--iterations': it belongs to bench"},
      {{"bench", "lenet-300-100", "--allow", "offload"}, "wanted --spill DIR"},
      {{"bench", "lenet-300-100", "--json=yes"}, "--json takes no value"},
  };
  for (const auto& [words, said] : mistakes) {
    const Outcome outcome = run_thimble(words);
    EXPECT_EQ(outcome.code, 1) << said;
    EXPECT_EQ(outcome.out, "") << said;
    EXPECT_TRUE(contains(outcome.err, said)) << outcome.err;
  }
}

std::string cost_file_in(const std::string& cache) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(cache + "/thimble")) found = entry.path().string();
  return found;
}

TEST(Cost, MeasuredWithoutACacheNamesTheCommandThatMakesOne) {
  const TempFolder cache;
  for (const std::string verb : {"plan", "explore", "bench"}) {
    const Outcome outcome =
        run_cached({verb, "lenet-300-100", "--batch", "16", "--threads", "1", "--cost", "measured"}, cache / "");
    EXPECT_EQ(outcome.code, 1) << verb;
    EXPECT_TRUE(contains(outcome.err, "--cost: found no costs of this machine in ")) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "measure them with: thimble bench lenet-300-100 --batch 16 --threads 1\n"))
        << outcome.err;
  }
  EXPECT_EQ(run_cached(tiny_train({"--cost", "measured"}), cache / "").code, 1);
}

TEST(Cost, AHomelessUserHasNoCache) {
  const auto homeless = [] {
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("HOME");
  };
  const Outcome bench = run_thimble(with(kBench, {"--json"}), {}, homeless);
  EXPECT_EQ(bench.code, 0) << bench.err;
  EXPECT_TRUE(contains(bench.err, "the costs are not kept"));
  EXPECT_TRUE(bench.json().at("cost_file").is_null());
  const Outcome plan = run_thimble({"plan", "lenet-300-100", "--cost", "measured"}, {}, homeless);
  EXPECT_EQ(plan.code, 1);
  EXPECT_TRUE(contains(plan.err, "neither XDG_CACHE_HOME nor HOME"));
}

TEST(Cost, WhatBenchKeptIsTaken) {
  const TempFolder cache;
  const Words model = {"wrn10-1-gn", "--batch", "8", "--input", "16x16x3", "--threads", "1"};
  const Outcome bench = run_cached(kBench, cache / "");
  ASSERT_EQ(bench.code, 0) << bench.err;
  EXPECT_TRUE(
      contains(bench.out, " costs of this machine are kept for --cost measured in " + cost_file_in(cache / "")));

  const Outcome plan = run_cached(with(with({"plan"}, model), {"--cost", "measured", "--json"}), cache / "");
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(plan.json().at("cost"), "measured");
  EXPECT_GT(plan.json().at("measured_costs").get<int>(), 0);
  EXPECT_EQ(plan.json().at("missing_costs"), 0);
  const Outcome text = run_cached(with(with({"plan"}, model), {"--cost", "measured"}), cache / "");
  EXPECT_TRUE(contains(text.out, "measured costs")) << text.out;
  EXPECT_TRUE(contains(text.out, "Times of all ")) << text.out;

  // Other samples at a time are other operands.
  const Words halves = with(with({"plan"}, model), {"--cost", "measured", "--microbatch", "4"});
  EXPECT_GT(run_cached(with(halves, {"--json"}), cache / "").json().at("missing_costs").get<int>(), 0);
  EXPECT_TRUE(contains(run_cached(halves, cache / "").out, "are predicted, times "));

  const Outcome threads =
      run_cached({"plan", "wrn10-1-gn", "--batch", "8", "--threads", "3", "--cost", "measured"}, cache / "");
  EXPECT_EQ(threads.code, 1);
  EXPECT_TRUE(contains(threads.err, "found no costs with 3 threads")) << threads.err;

  const nlohmann::json by_model = run_cached(with(with({"plan"}, model), {"--json"}), cache / "").json();
  EXPECT_EQ(by_model.at("cost"), "model");
  EXPECT_TRUE(by_model.at("missing_costs").is_null());
}

TEST(Cost, ExploreNamesTheMicrobatchOfEveryPoint) {
  const TempFolder cache;
  ASSERT_EQ(run_cached(kBench, cache / "").code, 0);
  const nlohmann::json front = run_cached({"explore", "wrn10-1-gn", "--batch", "8", "--input", "16x16x3", "--threads",
                                           "1", "--cost", "measured", "--json"},
                                          cache / "")
                                   .json();
  EXPECT_EQ(front.at("cost"), "measured");
  EXPECT_GT(front.at("missing_costs").get<int>(), 0);
  for (const nlohmann::json& point : front.at("points")) {
    const std::string command = point.at("command");
    EXPECT_TRUE(contains(command, "--cost measured")) << command;
    EXPECT_TRUE(contains(command, " --microbatch " + std::to_string(point.at("microbatch").get<int>()))) << command;
  }
}

TEST(Cost, ADamagedCacheIsRefusedByThoseWhoWantItAndReplacedByBench) {
  const TempFolder cache;
  ASSERT_EQ(run_cached(kBench, cache / "").code, 0);
  const std::string path = cost_file_in(cache / "");
  const std::string good = read_text_file(path);
  const Words plan = {"plan",    "wrn10-1-gn", "--batch", "8",      "--input",
                      "16x16x3", "--threads",  "1",       "--cost", "measured"};
  for (const std::string& bad : {std::string(), good.substr(0, good.size() / 2), std::string("\0\xff{", 3),
                                 std::string("{\"format\":\"other\"}")}) {
    write_text_file(path, bad);
    const Outcome outcome = run_cached(plan, cache / "");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.err, path)) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "measure them with: thimble bench wrn10-1-gn")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  const Outcome bench = run_cached(kBench, cache / "");
  EXPECT_EQ(bench.code, 0);
  EXPECT_TRUE(contains(bench.err, "the costs kept before are replaced: ")) << bench.err;
  EXPECT_EQ(run_cached(plan, cache / "").code, 0);
}

TEST(Cost, ACacheThatCannotBeWrittenIsAnErrorBehindTheFigures) {
  const TempFolder cache;
  write_text_file(cache / "thimble", "a file where the folder should be");
  const Outcome outcome = run_cached(kBench, cache / "");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.out, "By kernel and operands"));
  EXPECT_TRUE(contains(outcome.err, "cannot make folder ")) << outcome.err;
}

TEST(Cost, TrainsToTheSameBitsAndIsKeptForAResume) {
  const TempFolder cache;
  const Words model = {"wrn10-1-gn", "--data", "glyphs", "--batch", "8", "--microbatch", "4", "--threads", "1"};
  ASSERT_EQ(run_cached(with(with({"bench"}, model), {"--iterations", "1"}), cache / "").code, 0);
  const nlohmann::json refused = run_thimble(with(with({"plan"}, model), {"--memory", "1MiB", "--json"})).json();
  const std::string budget = std::to_string(refused.at("smallest_budget_bytes").get<std::int64_t>() + (1 << 20)) + "B";
  const Words run = with(with({"train"}, model), {"--steps", "2", "--memory", budget, "--progress", "none"});
  ASSERT_EQ(run_thimble(with(run, {"--out", cache / "model"})).code, 0);
  const Outcome measured = run_cached(with(run, {"--out", cache / "time", "--cost", "measured"}), cache / "");
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_EQ(weights_of(cache / "time", 2), weights_of(cache / "model", 2));
  EXPECT_TRUE(contains(read_text_file(cache / "time/options.toml"), "cost = \"measured\""));
  EXPECT_TRUE(contains(read_text_file(cache / "time/run.json"), "\"cost\":\"measured\""));
  const TempFolder empty;
  const Words resume = {"train", "--resume", cache / "time", "--steps", "3"};
  EXPECT_EQ(run_cached(resume, empty / "").code, 1);
  EXPECT_EQ(run_cached(with(resume, {"--cost", "model"}), empty / "").code, 0);
}

TEST(Bench, AFullDiskBehindStdoutIsAnError) {
  const TempFolder cache;
  const Outcome outcome = run_thimble(kBench, {}, [&] {
    ::setenv("XDG_CACHE_HOME", (cache / "").c_str(), 1);
    put_full_disk_behind_stdout();
  });
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "cannot write to stdout"));
}

}  // namespace
}  // namespace thimble::testing
