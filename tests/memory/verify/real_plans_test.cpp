// Every plan that the compiler makes must pass, whatever it keeps, and give the same bits as one that keeps everything.
#include "memory/verify/real_plans.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/call.h"

#include "memory/verify/arena_run.h"

namespace thimble::testing {
namespace {

constexpr OptimizerKind kOptimizers[] = {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::nesterov,
                                         OptimizerKind::adamw};

class EveryNetwork : public ::testing::TestWithParam<NetworkKind> {};

TEST_P(EveryNetwork, PlansAreAcceptedAndAgree) {
  for (const Division division : {Division::whole_and_evaluation, Division::three_microbatches}) {
    for (const OptimizerKind optimizer : kOptimizers) {
      for (const int variant : {0, 1, 2, 3, 4, 5, 6}) {
        PlanSpec spec{.network = GetParam(), .model = "", .division = division, .optimizer = optimizer};
        spec.fused = variant == 1 || variant == 4;
        spec.sparse = variant == 2 || variant == 5;
        spec.bf16 = variant == 3 || variant == 6;
        spec.clips = variant >= 4;
        std::optional<std::vector<std::byte>> results;
        for (spec.seed = 0; spec.seed < 4; ++spec.seed) {
          const RealPlan plan = make_real_plan(spec);
          EXPECT_EQ(fault_of(plan.trainings, plan.workspaces, plan.set), std::nullopt) << describe(spec);
          const auto found = run_iteration(plan);
          ASSERT_TRUE(found.has_value()) << describe(spec);
          EXPECT_TRUE(!results || *found == *results) << describe(spec);
          results = found;
        }
        // With transfers it runs twice, early and late.
        results->insert(results->end(), results->begin(), results->end());
        spec.spills = true;
        for (spec.seed = 0; spec.seed < 6; ++spec.seed) {
          const RealPlan plan = make_real_plan(spec);
          EXPECT_EQ(fault_of(plan.trainings, plan.workspaces, plan.set), std::nullopt) << describe(spec);
          EXPECT_GT(plan.set.spill_bytes, 0) << describe(spec);
          EXPECT_EQ(run_iteration(plan), results) << describe(spec);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Verify, EveryNetwork,
                         ::testing::Values(NetworkKind::residual_batch_norm, NetworkKind::residual_group_norm,
                                           NetworkKind::perceptron));

TEST(VerifyRealPlans, TrainingMovesParametersAndStaysFinite) {
  const RealPlan plan = make_real_plan({.network = NetworkKind::residual_batch_norm, .model = "", .seed = 1});
  const auto results = run_iteration(plan);
  ASSERT_TRUE(results.has_value());
  std::size_t first = 0;
  for (std::size_t p = 0; p < plan.set.persistents.size(); ++p) {
    const PersistentPlace& persistent = plan.set.persistents[p];
    const auto begin = results->begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<std::byte> after(begin, begin + static_cast<std::ptrdiff_t>(persistent.type.bytes()));
    first += after.size();
    EXPECT_NE(after, plan.initial[p]) << persistent.name;
    const TensorView view{const_cast<std::byte*>(after.data()), persistent.type.dtype, persistent.type.shape};
    for (std::int64_t i = 0; i < persistent.type.shape.count(); ++i)
      ASSERT_TRUE(std::isfinite(load(view, i))) << persistent.name;
  }
}

}  // namespace
}  // namespace thimble::testing
