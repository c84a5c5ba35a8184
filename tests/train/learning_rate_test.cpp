#include "train/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace thimble {
namespace {

TEST(LearningRate, ConstantStaysAtThePeak) {
  const LearningRateSpec spec{.peak = 0.3, .iterations = 10};
  EXPECT_EQ(learning_rate_at(spec, 0), 0.3);
  EXPECT_EQ(learning_rate_at(spec, 9), 0.3);
}

TEST(LearningRate, WarmUpRisesInEqualPartsToThePeak) {
  const LearningRateSpec spec{.peak = 0.4, .iterations = 10, .warm_up = 4};
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 0), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 1), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 3), 0.4);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 4), 0.4);
}

TEST(LearningRate, StepsMultiplyAtEachMilestone) {
  const LearningRateSpec spec{
      .kind = LearningRateKind::steps, .peak = 0.1, .iterations = 200, .milestones = {60, 120, 160}, .factor = 0.2};
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 59), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 60), 0.02);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 120), 0.004);
  EXPECT_NEAR(learning_rate_at(spec, 199), 0.0008, 1e-15);
}

TEST(LearningRate, CosineFallsFromThePeakToZero) {
  const LearningRateSpec spec{.kind = LearningRateKind::cosine, .peak = 0.2, .iterations = 100};
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 0), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 50), 0.1);
  EXPECT_NEAR(learning_rate_at(spec, 25), 0.1 * (1 + std::numbers::sqrt2 / 2), 1e-15);
  EXPECT_NEAR(learning_rate_at(spec, 100), 0, 1e-15);
}

TEST(LearningRate, CosineStartsBehindItsWarmUp) {
  const LearningRateSpec spec{.kind = LearningRateKind::cosine, .peak = 0.2, .iterations = 110, .warm_up = 10};
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 9), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 10), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 60), 0.1);
}

// PyTorch 2: OneCycleLR(max_lr=0.1, total_steps=10, pct_start=0.3): the peak lies at step 2, the end at step 9.
TEST(LearningRate, OneCycleIsPyTorchs) {
  const LearningRateSpec spec{.kind = LearningRateKind::one_cycle, .peak = 0.1, .iterations = 10};
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 0), 0.004);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 1), 0.052);
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 2), 0.1);
  const double end = 0.004 / 1e4;
  EXPECT_NEAR(learning_rate_at(spec, 5), end + (0.1 - end) / 2 * (1 + std::cos(std::numbers::pi * 3 / 7)), 1e-15);
  EXPECT_NEAR(learning_rate_at(spec, 9), 4e-7, 1e-18);
}

// The same with anneal_strategy="linear".
TEST(LearningRate, OneCycleAlongLinesIsPyTorchs) {
  const LearningRateSpec spec{.kind = LearningRateKind::one_cycle_linear, .peak = 0.1, .iterations = 10};
  const double wanted[] = {0.004,
                           0.052,
                           0.1,
                           0.08571434285714286,
                           0.07142868571428572,
                           0.05714302857142858,
                           0.042857371428571434,
                           0.028571714285714284,
                           0.014286057142857148,
                           4e-7};
  for (int iteration = 0; iteration < 10; ++iteration)
    EXPECT_NEAR(learning_rate_at(spec, iteration), wanted[iteration], 1e-15) << iteration;
  EXPECT_EQ(learning_rate_kind_from_name("one-cycle-linear"), LearningRateKind::one_cycle_linear);
}

TEST(LearningRate, OneCycleWithoutARiseStartsAtThePeak) {
  const LearningRateSpec spec{.kind = LearningRateKind::one_cycle, .peak = 0.1, .iterations = 10, .rise = 0.1};
  EXPECT_DOUBLE_EQ(learning_rate_at(spec, 0), 0.1);
  EXPECT_LT(learning_rate_at(spec, 1), 0.1);
}

TEST(LearningRate, KindsAreKnownByName) {
  for (const char* name : {"constant", "steps", "cosine", "one-cycle"}) {
    EXPECT_EQ(name_of(learning_rate_kind_from_name(name)), name);
  }
  EXPECT_THROW(learning_rate_kind_from_name("linear"), UserError);
}

}  // namespace
}  // namespace thimble
