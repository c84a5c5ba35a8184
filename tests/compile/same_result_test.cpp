// Plans never change results: budgets, test configurations and strategies give the same bits.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/small_run.h"

namespace thimble {
namespace {

using testing::distance;
using testing::run_request;
using testing::small_request;
using testing::Weights;

constexpr int kIterations = 3;

std::vector<Bytes> budgets_between_smallest_and_largest(CompileRequest request, int count) {
  const CompileResult unconstrained = compile(request, op_table(), cpu_kernels());
  request.memory = 1;
  const CompileResult refused = compile(request, op_table(), cpu_kernels());
  const Bytes largest = unconstrained.compiled->plans.arena_bytes + unconstrained.compiled->reserve.total();
  const Bytes smallest = refused.smallest_memory;
  std::vector<Bytes> budgets;
  for (int i = 0; i < count; ++i) budgets.push_back(smallest + (largest - smallest) * i / (count - 1));
  return budgets;
}

class EveryNetwork : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryNetwork, GivesTheSameBitsUnderEveryBudget) {
  CompileRequest request = small_request(GetParam(), 6);
  for (const std::int64_t microbatch : {6, 2, 4}) {
    request.microbatch = microbatch;
    request.memory.reset();
    const Weights expected = run_request(request, kIterations);
    ASSERT_FALSE(expected.empty());
    for (const Bytes budget : budgets_between_smallest_and_largest(request, 5)) {
      request.memory = budget;
      const Weights found = run_request(request, kIterations);
      EXPECT_EQ(found, expected) << "budget " << budget << ", microbatch " << microbatch;
    }
  }
}

TEST_P(EveryNetwork, GivesTheSameBitsUnderEveryStrategyOfRecomputation) {
  CompileRequest request = small_request(GetParam(), 6);
  for (const std::int64_t microbatch : {6, 4}) {
    request.microbatch = microbatch;
    request.memory.reset();
    const Weights expected = run_request(request, kIterations);
    for (const Recompute recompute : {Recompute::chen, Recompute::block, Recompute::sage, Recompute::greedy}) {
      request.recompute = recompute;
      for (const Bytes budget : budgets_between_smallest_and_largest(request, 3)) {
        request.memory = budget;
        EXPECT_EQ(run_request(request, kIterations), expected)
            << name_of(recompute) << ", budget " << budget << ", microbatch " << microbatch;
      }
      request.memory.reset();
    }
  }
}

TEST_P(EveryNetwork, GivesTheSameBitsInEveryConfigurationThatOnlyMovesMemory) {
  CompileRequest request = small_request(GetParam(), 4);
  request.microbatch = 4;
  const Weights expected = run_request(request, kIterations);
  const Configuration configurations[] = {{.in_place = false},
                                          {.reuse = false},
                                          {.poison = true},
                                          {.reuse = false, .guard = true},
                                          {.in_place = false, .poison = true}};
  for (const Configuration& configuration : configurations) {
    request.configuration = configuration;
    EXPECT_EQ(run_request(request, kIterations), expected);
  }
}

TEST_P(EveryNetwork, AgreesWithTheReferencesAndWithPassesOff) {
  CompileRequest request = small_request(GetParam(), 4);
  request.microbatch = 4;
  const Weights expected = run_request(request, kIterations);
  request.configuration.references = true;
  EXPECT_LT(distance(expected, run_request(request, kIterations)), 1e-4);
  request.configuration = {};
  request.configuration.skipped_passes = {
      "simplify",    "fuse_norm_activation", "fuse_conv_activation", "fuse_add_activation",
      "split_norms", "remove_dead_nodes"};
  EXPECT_LT(distance(expected, run_request(request, kIterations)), 1e-4);
}

TEST_P(EveryNetwork, GivesTheSameBitsInLowPrecisionAndSparse) {
  CompileRequest request = small_request(GetParam(), 4);
  request.microbatch = 2;
  for (const Master master : {Master::f32, Master::none}) {
    for (const double sparsity : {0.0, 0.5}) {
      request.precision = DType::bf16;
      request.master = master;
      request.sparsity = sparsity;
      request.memory.reset();
      const Weights expected = run_request(request, 2);
      request.memory = budgets_between_smallest_and_largest(request, 2)[0];
      EXPECT_EQ(run_request(request, 2), expected) << "sparsity " << sparsity;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryNetwork, ::testing::Values("wrn10-1", "wrn10-1-gn", "wrn16-1-gn", "lenet-300-100"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Microbatches, DifferBySummationOrderOnly) {
  CompileRequest request = small_request("wrn10-1-gn", 8);
  for (const OptimizerKind kind :
       {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::nesterov, OptimizerKind::adamw}) {
    request.optimizer.kind = kind;
    request.microbatch = 8;
    const Weights whole = run_request(request, 20);
    for (const std::int64_t microbatch : {1, 3, 4}) {  // three leaves a ragged microbatch
      request.microbatch = microbatch;
      EXPECT_LT(distance(whole, run_request(request, 20)), kind == OptimizerKind::adamw ? 2e-3 : 1e-4)
          << name_of(kind) << ", microbatch " << microbatch;
    }
  }
}

TEST(Dropout, DrawsTheSameMasksWhateverTheMicrobatch) {
  CompileRequest request = small_request("lenet-300-100", 6);
  request.model.dropout = 0.5;
  request.microbatch = 6;
  const Weights whole = run_request(request, 5);
  request.microbatch = 2;
  EXPECT_LT(distance(whole, run_request(request, 5)), 1e-4);
}

}  // namespace
}  // namespace thimble
