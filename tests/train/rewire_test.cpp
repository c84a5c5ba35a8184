#include "train/rewire.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "train/initialize.h"
#include "train/rewire_growth.h"
#include "train/state_fixture.h"

namespace thimble::testing {
namespace {

std::vector<TensorSpec> three_tensors() {
  const auto tensor = [](const char* name, Shape shape, double scale) {
    return TensorSpec{name, {DType::f32, shape}, Init::normal, scale, true};
  };
  return {tensor("a", {3, 3, 5, 7}, 1.0), tensor("b", {13, 11}, 0.01), tensor("c", {3, 3, 8, 8}, 0.1)};
}

// A state with recognisable values in every pool.
StateFixture filled(double sparsity, std::uint64_t seed, DType dtype = DType::f32) {
  StateFixture fixture(three_tensors(), sparsity, {"first_moment", "second_moment"}, dtype);
  initialize(fixture.state(), {.seed = seed, .sparsity = sparsity});
  std::int64_t mark = 0;
  for (const char* name : {"pool/first_moment", "pool/second_moment"}) {
    const TensorView view = get_persistent(fixture.state().persistents, name);
    for (std::int64_t i = 0; i < view.shape.count(); ++i) store(view, i, static_cast<double>(++mark % 251) + 1);
  }
  return fixture;
}

RewireOptions with(double threshold, std::int64_t target = 50) {
  return {.seed = 1, .iteration = 100, .threshold = threshold, .prune_target = target};
}

// The naive dense model: what survives keeps all its values, what is new starts at zero, nothing else is there.
void expect_moved_rightly(StateFixture& before, StateFixture& after, double threshold) {
  for (std::int64_t slot = 0; slot < 3; ++slot) {
    const std::vector<bool> was = before.positions(slot), is = after.positions(slot);
    const std::vector<double> old_weights = before.dense_values(slot);
    for (const char* pool : {"parameter", "first_moment", "second_moment"}) {
      const std::vector<double> old_values = before.dense_values(slot, pool), values = after.dense_values(slot, pool);
      for (std::size_t e = 0; e < is.size(); ++e) {
        const bool survives = was[e] && !(std::abs(old_weights[e]) < threshold);
        ASSERT_TRUE(is[e] || !survives) << "a large weight was pruned";
        const double wanted = was[e] && is[e] ? old_values[e] : 0.0;
        ASSERT_EQ(values[e], wanted) << pool << " at " << e;
      }
    }
  }
}

TEST(Rewire, ValuesFollowTheirPositionsInEveryPool) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const double threshold : {0.001, 0.01, 0.1, 1.0}) {
      StateFixture before = filled(0.8, 2, dtype), after = filled(0.8, 2, dtype);
      const RewireResult result = rewire(after.pools(), after.state().scratch, with(threshold));
      EXPECT_GT(result.moved, 0);
      EXPECT_EQ(inconsistency(after.pools()), "") << "masks, table and pools agree, and no weight was lost";
      expect_moved_rightly(before, after, threshold);
    }
  }
}

TEST(Rewire, PrunedPositionsDoNotGrowAgainInTheSameStep) {
  StateFixture before = filled(0.8, 2), after = filled(0.8, 2);
  const double threshold = 0.05;
  rewire(after.pools(), after.state().scratch, with(threshold));
  std::int64_t kept = 0;
  for (std::int64_t slot = 0; slot < 3; ++slot) {
    const std::vector<bool> was = before.positions(slot), is = after.positions(slot);
    const std::vector<double> weights = before.dense_values(slot);
    for (std::size_t e = 0; e < is.size(); ++e) kept += was[e] && std::abs(weights[e]) < threshold && is[e] ? 1 : 0;
  }
  EXPECT_EQ(kept, 1) << "the one weight that the second tensor, all below the threshold, must keep";
}

TEST(Rewire, ATensorKeepsItsLargestWeightWhenAllWouldGo) {
  StateFixture before = filled(0.8, 2), after = filled(0.8, 2);
  rewire(after.pools(), after.state().scratch, with(0.5));
  const std::vector<double> weights = before.dense_values(1);
  const auto largest =
      std::max_element(weights.begin(), weights.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  EXPECT_TRUE(after.positions(1)[static_cast<std::size_t>(largest - weights.begin())]);
}

TEST(Rewire, GrowthFollowsTheSurvivors) {
  StateFixture fixture = filled(0.8, 2);
  const SparsePools pools = fixture.pools();
  const std::int64_t before = pools.nonzeros(1);
  rewire(pools, fixture.state().scratch, with(0.05));  // the second tensor's weights are all below
  EXPECT_LT(pools.nonzeros(1), before / 2) << "its weights went to the others";
}

TEST(Rewire, ThresholdIsHalvedDoubledOrLeft) {
  const auto next = [](std::int64_t target, double tolerance) {
    StateFixture fixture = filled(0.8, 2);
    RewireOptions options = with(0.05, target);
    options.tolerance = tolerance;
    return rewire(fixture.pools(), fixture.state().scratch, options);
  };
  const std::int64_t found = next(1, 0.1).below_threshold;
  EXPECT_EQ(next(found, 0.1).threshold, 0.05);
  EXPECT_EQ(next(found * 10 / 12, 0.1).threshold, 0.025);
  EXPECT_EQ(next(found * 12 / 10, 0.1).threshold, 0.1);
}

TEST(Rewire, NothingBelowTheThresholdChangesNothing) {
  StateFixture before = filled(0.8, 2), after = filled(0.8, 2);
  const RewireResult result = rewire(after.pools(), after.state().scratch, with(1e-12));
  EXPECT_EQ(result.moved, 0);
  EXPECT_EQ(result.threshold, 2e-12);
  for (std::int64_t slot = 0; slot < 3; ++slot) EXPECT_EQ(before.dense_values(slot), after.dense_values(slot));
}

TEST(Rewire, FewFreePositionsLimitWhatIsPruned) {
  StateFixture before = filled(0.1, 2), after = filled(0.1, 2);
  const SparsePools pools = after.pools();
  const std::int64_t free = pools.position_count() - pools.capacity;
  const RewireResult result = rewire(pools, after.state().scratch, with(10));
  EXPECT_GT(result.below_threshold, free);
  EXPECT_LE(result.moved, free);
  EXPECT_GT(result.moved, free - 4);
  EXPECT_EQ(inconsistency(pools), "");
  expect_moved_rightly(before, after, 10);
}

TEST(Rewire, DrawsDependOnSeedAndIterationAlone) {
  const auto positions = [](std::uint64_t seed, std::int64_t iteration) {
    StateFixture fixture = filled(0.8, 2);
    RewireOptions options = with(0.05);
    options.seed = seed;
    options.iteration = iteration;
    rewire(fixture.pools(), fixture.state().scratch, options);
    return fixture.positions(0);
  };
  EXPECT_EQ(positions(1, 100), positions(1, 100));
  EXPECT_NE(positions(1, 100), positions(2, 100));
  EXPECT_NE(positions(1, 100), positions(1, 200));
}

TEST(Rewire, NewPositionsAreUniform) {
  // 200 rewirings of one state: each inactive position of the first tensor is chosen about equally often.
  StateFixture start = filled(0.8, 2);
  const std::vector<bool> was = start.positions(0);
  std::vector<int> chosen(was.size(), 0);
  std::int64_t total = 0;
  for (std::int64_t iteration = 1; iteration <= 200; ++iteration) {
    StateFixture fixture = filled(0.8, 2);
    RewireOptions options = with(0.05);
    options.iteration = iteration;
    rewire(fixture.pools(), fixture.state().scratch, options);
    const std::vector<bool> is = fixture.positions(0);
    for (std::size_t e = 0; e < is.size(); ++e) chosen[e] += !was[e] && is[e] ? 1 : 0;
  }
  const auto candidates = static_cast<double>(std::count(was.begin(), was.end(), false));
  total = std::accumulate(chosen.begin(), chosen.end(), std::int64_t{0});
  const double mean = static_cast<double>(total) / candidates;
  double chi = 0;
  for (std::size_t e = 0; e < was.size(); ++e) {
    if (!was[e]) chi += (chosen[e] - mean) * (chosen[e] - mean) / mean;
  }
  EXPECT_LT(chi / candidates, 1.3) << "mean " << mean;
}

TEST(Growth, IsProportionalAndSumsUp) {
  const std::vector<GrowthPlace> places = {{100, 1000}, {300, 1000}, {600, 1000}};
  EXPECT_EQ(growth_of(places, 100, {1, 2}), (std::vector<std::int64_t>{10, 30, 60}));
}

TEST(Growth, RoundingFallsToOneTensor) {
  const std::vector<GrowthPlace> places = {{1, 10}, {1, 10}, {1, 10}};
  for (const std::int64_t total : {1, 2, 4, 5}) {  // round(total / 3) three times is off by one
    const std::vector<std::int64_t> grown = growth_of(places, total, {1, 2});
    EXPECT_EQ(std::accumulate(grown.begin(), grown.end(), std::int64_t{0}), total);
    for (const std::int64_t count : grown) EXPECT_GE(count, 0);
  }
}

TEST(Growth, FullTensorsOverflowToTheOthersByShare) {
  const std::vector<GrowthPlace> places = {{600, 10}, {300, 1000}, {100, 1000}};
  const std::vector<std::int64_t> grown = growth_of(places, 410, {1, 2});
  EXPECT_EQ(grown[0], 10);
  EXPECT_EQ(grown[1] + grown[2], 400);
  EXPECT_NEAR(static_cast<double>(grown[1]), 300, 2);
  EXPECT_EQ(growth_of(places, 2010, {1, 2}), (std::vector<std::int64_t>{10, 1000, 1000}));
}

TEST(RewireSchedule, PeriodsGrowAsInTheStudy) {
  // 200 epochs of 500 iterations: 100 until epoch 25, 200 until 80, 400 until 140, 800 until 190, then none.
  const std::int64_t run = 100'000;
  EXPECT_FALSE(rewires_after(0, run, 100));
  EXPECT_TRUE(rewires_after(100, run, 100));
  EXPECT_TRUE(rewires_after(12'300, run, 100));
  EXPECT_FALSE(rewires_after(12'700, run, 100));
  EXPECT_TRUE(rewires_after(12'800, run, 100));
  EXPECT_FALSE(rewires_after(40'200, run, 100));
  EXPECT_TRUE(rewires_after(40'400, run, 100));
  EXPECT_TRUE(rewires_after(72'000, run, 100));
  EXPECT_FALSE(rewires_after(72'400, run, 100));
  EXPECT_FALSE(rewires_after(95'200, run, 100));
}

TEST(RewireSchedule, DefaultTargetIsTheStudys) {
  EXPECT_EQ(default_prune_target(1'451'520), 20'000);
  EXPECT_EQ(default_prune_target(10), 1);
}

}  // namespace
}  // namespace thimble::testing
