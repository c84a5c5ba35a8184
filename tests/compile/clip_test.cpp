// Clipping under every plan: kept gradients and a second pass are the same bits, and both are in the front.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "support/small_run.h"

namespace thimble {
namespace {

using testing::distance;
using testing::run_request;
using testing::small_request;
using testing::Weights;

constexpr int kClippedIterations = 3;
constexpr double kLimit = 0.1;  // shorter than the gradients here, so that it bites
constexpr OptimizerKind kEvery[] = {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::nesterov,
                                    OptimizerKind::adamw};

CompileRequest clipped_request(const std::string& model, std::int64_t batch, std::int64_t microbatch) {
  CompileRequest request = small_request(model, batch);
  request.optimizer.clip_norm = kLimit;
  request.microbatch = microbatch;
  return request;
}

double norm_of(const Weights& weights) {
  float norm = 0;
  std::memcpy(&norm, weights.at(std::string(kGradientNorm)).data(), sizeof(norm));
  return static_cast<double>(norm);
}

// Results without a budget, under the smallest one and under some between.
void expect_same_bits(CompileRequest request, int budgets) {
  request.memory.reset();
  const CompileResult unbounded = compile(request, op_table(), cpu_kernels());
  const Weights expected = testing::run_compiled(*unbounded.compiled, kClippedIterations);
  ASSERT_FALSE(expected.empty());
  EXPECT_GT(norm_of(expected), kLimit) << "the limit must bite for this test to say anything";
  request.memory = 1;
  const CompileResult refused = compile(request, op_table(), cpu_kernels());
  const Bytes largest = unbounded.compiled->point.process_bytes;
  for (int part = 0; part < budgets; ++part) {
    request.memory = refused.smallest_memory + (largest - refused.smallest_memory) * part / budgets;
    EXPECT_EQ(run_request(request, kClippedIterations), expected) << "budget " << *request.memory;
  }
}

class ClippedNetwork : public ::testing::TestWithParam<std::string> {};

TEST_P(ClippedNetwork, GivesTheSameBitsUnderEveryBudget) {
  for (const std::int64_t microbatch : {6, 4}) expect_same_bits(clipped_request(GetParam(), 6, microbatch), 4);
}

TEST_P(ClippedNetwork, GivesTheSameBitsInLowPrecisionAndSparse) {
  for (const std::int64_t microbatch : {4, 2}) {
    for (const Master master : {Master::f32, Master::none}) {
      for (const double sparsity : {0.0, 0.5}) {
        CompileRequest request = clipped_request(GetParam(), 4, microbatch);
        request.optimizer.kind = master == Master::none ? OptimizerKind::adamw : OptimizerKind::momentum;
        request.precision = DType::bf16;
        request.master = master;
        request.sparsity = sparsity;
        SCOPED_TRACE(join_text("microbatch ", microbatch, ", sparsity ", sparsity));
        expect_same_bits(request, 1);
      }
    }
  }
}

TEST_P(ClippedNetwork, AgreesWithTheReferencesAndWhereverMemoryLies) {
  CompileRequest request = clipped_request(GetParam(), 4, 4);
  const Weights expected = run_request(request, kClippedIterations);
  for (const Configuration& configuration : {Configuration{.in_place = false}, Configuration{.poison = true}}) {
    request.configuration = configuration;
    EXPECT_EQ(run_request(request, kClippedIterations), expected);
  }
  request.configuration = {.references = true};
  EXPECT_LT(distance(expected, run_request(request, kClippedIterations)), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Zoo, ClippedNetwork, ::testing::Values("wrn10-1", "wrn10-1-gn", "lenet-300-100"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Clipping, UnderALimitThatNeverBitesChangesNoBit) {
  for (const OptimizerKind kind : kEvery) {
    for (const double sparsity : {0.0, 0.5}) {
      CompileRequest request = small_request("wrn10-1-gn", 4);
      request.optimizer.kind = kind;
      request.sparsity = sparsity;
      request.microbatch = 4;
      const Weights expected = run_request(request, kClippedIterations);
      request.optimizer.clip_norm = 1e6;
      Weights found = run_request(request, kClippedIterations);
      EXPECT_EQ(found.erase(std::string(kGradientNorm)), 1U);
      EXPECT_EQ(found, expected) << name_of(kind) << ", sparsity " << sparsity;
    }
  }
}

TEST(Clipping, OfMicrobatchesDiffersBySummationOrderOnly) {
  for (const OptimizerKind kind : kEvery) {
    CompileRequest request = clipped_request("wrn10-1-gn", 8, 8);
    request.optimizer.kind = kind;
    const Weights whole = run_request(request, 20);
    for (const std::int64_t microbatch : {1, 3}) {
      request.microbatch = microbatch;
      const Weights parts = run_request(request, 20);
      EXPECT_LT(distance(whole, parts), kind == OptimizerKind::adamw ? 2e-3 : 1e-4)
          << name_of(kind) << ", microbatch " << microbatch;
      EXPECT_NEAR(norm_of(parts), norm_of(whole), 1e-3 * norm_of(whole));
    }
  }
}

// The norm of a sparse network's gradient counts the positions that exist: fewer of them, a shorter gradient.
TEST(Clipping, OfASparseNetworkLooksAtExistingPositionsOnly) {
  CompileRequest request = clipped_request("wrn10-1-gn", 4, 4);
  request.optimizer.kind = OptimizerKind::sgd;
  request.optimizer.weight_decay = 0;
  request.optimizer.clip_norm = 1e-3;
  request.sparsity = 0.5;
  const CompileResult result = compile(request, op_table(), cpu_kernels());
  const Weights start = testing::run_compiled(*result.compiled, 0), end = testing::run_compiled(*result.compiled, 1);
  double squares = 0;
  for (const PersistentPlace& persistent : result.compiled->plans.persistents) {
    if (persistent.role != Role::parameter) continue;
    const std::vector<std::byte>&a = start.at(persistent.name), &b = end.at(persistent.name);
    for (std::size_t i = 0; i + 4 <= a.size(); i += 4) {
      float x = 0, y = 0;
      std::memcpy(&x, a.data() + i, 4);
      std::memcpy(&y, b.data() + i, 4);
      squares += std::pow((static_cast<double>(y) - static_cast<double>(x)) / 0.05, 2);
    }
  }
  EXPECT_GT(norm_of(end), 2e-3);
  EXPECT_NEAR(std::sqrt(squares), 1e-3, 2e-5);  // weights near one lose some of so small a step
}

TEST(Clipping, HasKeptGradientsAndTheSecondPassInItsFront) {
  CompileRequest request = clipped_request("wrn10-1-gn", 8, 8);
  const std::vector<PointSummary> front = explore(request, op_table(), cpu_kernels()).points;
  ASSERT_GE(front.size(), 3U);
  EXPECT_EQ(front.front().recompute_flops_ratio, 0);
  // Forward is a third of the work: more than half as much again is backward a second time.
  EXPECT_GT(front.back().recompute_flops_ratio, 0.5);
  request.optimizer.clip_norm = 0;
  const Bytes unclipped = explore(request, op_table(), cpu_kernels()).points.back().arena_bytes;
  EXPECT_LE(static_cast<double>(front.back().arena_bytes), 1.1 * static_cast<double>(unclipped));
}

// The last batch of an epoch may be a single microbatch where the others are several: it shares their accumulators.
TEST(Clipping, OfARaggedBatchAddsNothingToTheArena) {
  CompileRequest request = clipped_request("lenet-300-100", 8, 4);
  const Bytes even = compile(request, op_table(), cpu_kernels()).compiled->plans.arena_bytes;
  request.train_samples = 11;  // a batch of 8 as two microbatches, one of 3 in one
  const CompileResult ragged = compile(request, op_table(), cpu_kernels());
  ASSERT_NE(ragged.compiled->plans.find("sum/fc1.weight"), nullptr);
  EXPECT_EQ(ragged.compiled->plans.arena_bytes, even);
}

}  // namespace
}  // namespace thimble
