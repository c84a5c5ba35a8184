#include <gtest/gtest.h>

#include "cli/run_thimble.h"

namespace thimble::testing {
namespace {

const Words kBench = {"bench",     "wrn10-1-gn", "--batch",      "8", "--input", "16x16x3",
                      "--threads", "1",          "--iterations", "2"};

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

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

TEST(Bench, AFullDiskBehindStdoutIsAnError) {
  const TempFolder cache;
  const Outcome outcome = run_thimble(kBench, {}, [&] {
    ::setenv("XDG_CACHE_HOME", (cache / "").c_str(), 1);
    if (std::freopen("/dev/full", "wb", stdout) == nullptr) _exit(127);
  });
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "cannot write to stdout"));
}

}  // namespace
}  // namespace thimble::testing
