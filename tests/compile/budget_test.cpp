// What the planner promises about bytes.
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/small_run.h"

namespace thimble {
namespace {

using testing::kPlannedIsa;
using testing::small_request;

CompileResult compile_with(const CompileRequest& request) { return compile(request, op_table(), cpu_kernels()); }

CompileRequest wide_resnet(std::int64_t batch) {
  CompileRequest request;
  request.model = {.name = "wrn28-2", .sample = {32, 32, 3}};
  request.batch = batch;
  request.microbatch = batch;
  request.optimizer.kind = OptimizerKind::nesterov;
  request.target = {kPlannedIsa, 2};
  return request;
}

TEST(Baseline, OfWideResNetIsThePublishedCount) {
  const CompileResult result = compile_with(wide_resnet(100));
  EXPECT_NEAR(static_cast<double>(result.compiled->baseline_bytes), 402.2e6, 402.2e6 * 0.005);
}

TEST(Unconstrained, WideResNetTakesLessThanTheBaselineWithoutRecomputation) {
  const CompileResult result = compile_with(wide_resnet(100));
  EXPECT_LE(result.compiled->plans.arena_bytes, 398'000'000);
  EXPECT_EQ(result.compiled->point.recompute_flops_ratio, 0);
}

TEST(Parameters, AreCountedAsPublished) {
  const CompileResult result = compile_with(wide_resnet(1));
  std::int64_t count = 0;
  for (const TensorSpec& tensor : result.compiled->tensors) {
    if (tensor.name.find("running") == std::string::npos) count += tensor.type.shape.count();
  }
  EXPECT_EQ(count, 1'467'610);
}

TEST(Placement, StaysNearItsLowerBound) {
  for (const char* model : {"wrn28-2", "wrn28-2-gn", "resnet18", "lenet-300-100"}) {
    for (const std::int64_t microbatch : {1, 4, 16}) {
      CompileRequest request = wide_resnet(16);
      request.model.name = model;
      request.model.sample = default_sample(model);
      request.microbatch = microbatch;
      request.allowed = {"microbatch-norm"};
      const PlanSet plans = std::move(compile_with(request).compiled->plans);
      EXPECT_LE(static_cast<double>(plans.arena_bytes), 1.02 * static_cast<double>(plans.lower_bound_bytes)) << model;
    }
  }
}

TEST(Budget, OfTheSmallestPlanFitsAndOneByteLessDoesNot) {
  for (const char* model : {"wrn10-1", "wrn10-1-gn", "lenet-300-100"}) {
    CompileRequest request = small_request(model, 8);
    request.memory = 1;
    const CompileResult refused = compile_with(request);
    ASSERT_FALSE(refused.compiled.has_value());
    request.memory = refused.smallest_memory;
    EXPECT_TRUE(compile_with(request).compiled.has_value()) << model;
    request.memory = refused.smallest_memory - 1;
    EXPECT_FALSE(compile_with(request).compiled.has_value()) << model;
  }
}

// In a network of many steps and small maps, descriptors take so much that whether the smallest schedules are needed
// shows only when plans are placed: here the others miss the smallest budget, and looked as if they met it.
TEST(Budget, OfTheSmallestPlanAndALittleMoreFits) {
  CompileRequest request = small_request("resnet32", 2);
  request.model.sample = {8, 8, 3};
  request.optimizer.kind = OptimizerKind::sgd;
  request.target = {kPlannedIsa, 1};
  request.memory = 1;
  const Bytes smallest = compile_with(request).smallest_memory;
  for (int more = 0; more < 3; ++more) {
    request.memory = smallest + more * kMiB / 4;
    EXPECT_TRUE(compile_with(request).compiled.has_value()) << more;
  }
}

// The smallest arena may take many more steps than others, and their descriptors more than it saves.
TEST(Budget, OfTheSmallestProcessIsThatOfAPlacedPlan) {
  CompileRequest request = small_request("shufflenetv2-0.5", 8);
  request.model.sample = {32, 32, 3};
  request.microbatch = 8;
  request.sparsity = 0.8;
  request.target = {kPlannedIsa, 1};
  request.memory = 1;
  const CompileResult refused = compile_with(request);
  EXPECT_LE(refused.smallest_tensor_bytes, refused.smallest->point.arena_bytes);
  EXPECT_EQ(refused.smallest_memory, refused.smallest->point.process_bytes);
  request.memory = refused.smallest_memory - 1;
  EXPECT_FALSE(compile_with(request).compiled.has_value());
}

TEST(Budget, SmallerNeverPlansALargerPeakNorAFasterStep) {
  for (const char* model : {"wrn10-1", "wrn10-1-gn"}) {
    CompileRequest request = small_request(model, 8);
    request.model.sample = {32, 32, 3};
    request.memory = 1;
    const Bytes smallest = compile_with(request).smallest_memory;
    Bytes last_arena = 0;
    double last_seconds = 1e9;
    for (int i = 0; i < 10; ++i) {
      request.memory = smallest + i * 200'000;
      const CompileResult result = compile_with(request);
      ASSERT_TRUE(result.compiled.has_value());
      EXPECT_LE(result.compiled->plans.arena_bytes + result.compiled->reserve.total(), *request.memory);
      EXPECT_GE(result.compiled->plans.arena_bytes, last_arena);
      EXPECT_LE(result.compiled->point.seconds, last_seconds);
      last_arena = result.compiled->plans.arena_bytes;
      last_seconds = result.compiled->point.seconds;
    }
  }
}

TEST(Budget, BatchNormIsNotSplitWithoutLeave) {
  CompileRequest request = small_request("wrn10-1", 8);
  request.allowed.clear();
  request.microbatch = 4;
  EXPECT_THROW(compile_with(request), UserError);
  request.microbatch.reset();
  EXPECT_EQ(compile_with(request).compiled->microbatch, 8);
}

TEST(Request, ImpossibleOnesAreTheUsersError) {
  CompileRequest request = small_request("wrn10-1", 0);
  EXPECT_THROW(compile_with(request), UserError);
  request = small_request("wrn11-1", 4);
  EXPECT_THROW(compile_with(request), UserError);
  request = small_request("wrn10-1", 4);
  request.sparsity = 1;
  EXPECT_THROW(compile_with(request), UserError);
  request = small_request("wrn10-1", 4);
  request.master = Master::none;
  EXPECT_THROW(compile_with(request), UserError);
}

TEST(Phases, RaggedMicrobatchesComeBeforeTheLast) {
  const auto turns = iteration_turns(10, 4);
  ASSERT_EQ(turns.size(), 3U);
  EXPECT_EQ(turns[0].phase, (Phase{4, true, false, true}));
  EXPECT_EQ(turns[1].phase, (Phase{2, false, false, true}));
  EXPECT_EQ(turns[2].phase, (Phase{4, false, true, true}));
  EXPECT_EQ(turns[2].offset, 6);
  EXPECT_EQ(iteration_turns(5, 4).back().phase, (Phase{1, false, true, true}));
  EXPECT_EQ(iteration_turns(3, 4).size(), 1U);
}

}  // namespace
}  // namespace thimble
