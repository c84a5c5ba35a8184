// What may not change a result does not: budgets, placement, poison, guards, threads of the loader. What changes the
// order of summation only, changes it a little.
#include <gtest/gtest.h>

#include "train/support.h"

namespace thimble::testing {
namespace {

// A group-norm network with dropout, so that recomputed random numbers show.
TrainOptions plain(const std::string& folder) {
  TrainOptions options = short_run(folder);
  options.iterations = 6;
  options.compile.model.dropout = 0.2;
  options.compile.recompute = Recompute::automatic;
  return options;
}

TEST(Invariance, BudgetsNeverChangeAResult) {
  const TempFolder folder(fast_parent());
  for (const double sparsity : {0.0, 0.8}) {
    const std::string kind = sparsity > 0 ? "sparse" : "dense";
    TrainOptions options = plain(folder / kind);
    options.compile.sparsity = sparsity;
    run(options);
    const std::string wanted = state_of(folder / kind);
    // The largest and the smallest plan of the front, and some between.
    TrainOptions least = options;
    least.out_folder = "";
    least.compile.memory = kMiB;
    const CompileResult smallest = run(least).compile;
    const TrainResult unconstrained = run([&] {
      TrainOptions none = options;
      none.out_folder = "";
      return none;
    }());
    const Bytes most = unconstrained.arena_bytes + smallest.smallest->reserve.total();
    for (const int part : {0, 1, 2, 3}) {
      options.compile.memory = smallest.smallest_memory + (most - smallest.smallest_memory) * part / 3;
      options.out_folder = folder / (kind + std::to_string(part));
      const TrainResult result = run(options);
      // The test program's own memory, not the run's, may be above the budget.
      ASSERT_TRUE(result.end == TrainEnd::finished || result.end == TrainEnd::over_budget);
      EXPECT_TRUE(state_of(options.out_folder) == wanted) << result.arena_bytes << " of " << most << " bytes";
      EXPECT_TRUE(part > 0 || result.arena_bytes < unconstrained.arena_bytes);
    }
  }
}

struct ConfigurationCase {
  std::string name;
  Configuration configuration;
  double tolerance = 0;  // zero: bit for bit
};

TEST(Invariance, ConfigurationsAgree) {
  const TempFolder folder(fast_parent());
  run(plain(folder / "default"));
  const std::set<std::string> passes = {"simplify",    "fuse_norm_activation", "fuse_conv_activation",
                                        "split_norms", "fuse_add_activation",  "remove_dead_nodes"};
  const ConfigurationCase cases[] = {
      {"without_in_place", {.in_place = false}},
      {"without_reuse", {.reuse = false}},
      {"poison", {.poison = true}},
      {"guard", {.guard = true}},
      {"references", {.references = true}, 1e-3},
      {"without_passes", {.skipped_passes = passes}, 1e-3},
  };
  for (const ConfigurationCase& c : cases) {
    TrainOptions options = plain(folder / c.name);
    options.compile.configuration = c.configuration;
    ASSERT_EQ(run(options).end, TrainEnd::finished) << c.name;
    if (c.tolerance == 0) {
      EXPECT_TRUE(state_of(folder / c.name) == state_of(folder / "default")) << c.name;
    } else {
      EXPECT_LT(relative_distance(weights_of(folder / c.name), weights_of(folder / "default")), c.tolerance) << c.name;
    }
  }
}

TEST(Invariance, MicrobatchesDifferByOrderOfSummationOnly) {
  const TempFolder folder(fast_parent());
  const TinyDataset dataset(21);  // a ragged last batch of 5
  for (const OptimizerKind kind : {OptimizerKind::momentum, OptimizerKind::nesterov}) {
    const std::string base = std::string(name_of(kind));
    for (const std::int64_t microbatch : {8, 4, 3, 1}) {
      TrainOptions options = short_run(folder / (base + std::to_string(microbatch)));
      options.compile.optimizer.kind = kind;
      options.compile.microbatch = microbatch;
      options.compile.model.dropout = 0.2;
      // A rate so small that a ReLU which falls on the other side of zero, as one now and then does, moves little.
      options.learning_rate.peak = 0.005;
      run(options, dataset);
      EXPECT_LT(relative_distance(weights_of(options.out_folder), weights_of(folder / (base + "8"))), 1e-4)
          << base << " in microbatches of " << microbatch;
    }
  }
}

TEST(Invariance, SeedDecidesTheResult) {
  const TempFolder folder(fast_parent());
  for (const char* name : {"a", "b", "c"}) {
    TrainOptions options = plain(folder / name);
    options.augmentation = Augmentation::crop_flip;
    options.seed = *name == 'c' ? 8 : 7;
    run(options);
  }
  EXPECT_TRUE(state_of(folder / "a") == state_of(folder / "b"));
  EXPECT_FALSE(state_of(folder / "a") == state_of(folder / "c"));
}

}  // namespace
}  // namespace thimble::testing
