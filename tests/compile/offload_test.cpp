// Offload moves bytes only: fewer in memory, the same result.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "support/small_run.h"

namespace thimble {
namespace {

using testing::run_compiled;
using testing::run_request;
using testing::small_request;
using testing::Weights;

constexpr int kOffloadedIterations = 2;

Bytes smallest_arena(CompileRequest request) {
  request.tensor_memory = 1;
  return compile(request, op_table(), cpu_kernels()).smallest_tensor_bytes;
}

CompileRequest offloading(CompileRequest request) {
  request.allowed.insert("offload");
  return request;
}

class Offloaded : public ::testing::TestWithParam<std::string> {};

// A run under three arenas from the smallest with offload to the smallest without.
void expect_same_bits_in_less(CompileRequest request) {
  const Weights expected = run_request(request, kOffloadedIterations);
  const Bytes without = smallest_arena(request);
  request = offloading(request);
  const Bytes smallest = smallest_arena(request);
  EXPECT_LT(smallest, without);
  int spilling = 0;
  for (int part = 0; part < 3; ++part) {
    request.tensor_memory = smallest + (without - smallest) * part / 2;
    const CompileResult result = compile(request, op_table(), cpu_kernels());
    ASSERT_TRUE(result.compiled.has_value()) << *request.tensor_memory;
    spilling += result.compiled->plans.spill_bytes > 0 ? 1 : 0;
    EXPECT_LE(result.compiled->plans.arena_bytes, *request.tensor_memory);
    EXPECT_EQ(run_compiled(*result.compiled, kOffloadedIterations), expected)
        << "arena " << *request.tensor_memory << ", " << result.compiled->point.strategy;
  }
  EXPECT_GE(spilling, 2);
}

TEST_P(Offloaded, NeedsLessMemoryAndGivesTheSameBits) {
  for (const std::int64_t microbatch : {6, 4}) {
    SCOPED_TRACE(join_text("microbatch ", microbatch));
    CompileRequest request = small_request(GetParam(), 6);
    request.microbatch = microbatch;
    expect_same_bits_in_less(request);
  }
}

// Its parameters are what is large; recomputation takes long to search here and has nothing to do with that.
TEST(OffloadedResnet18, NeedsAThirdOfTheMemoryAndGivesTheSameBits) {
  CompileRequest request = small_request("resnet18-gn", 4);
  request.recompute = Recompute::none;
  request.microbatch = 2;
  expect_same_bits_in_less(request);
  EXPECT_LT(3 * smallest_arena(offloading(request)), smallest_arena(request));
}

TEST_P(Offloaded, GivesTheSameBitsWithEveryOptimizer) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::adamw}) {
    CompileRequest request = small_request(GetParam(), 4);
    request.optimizer.kind = kind;
    request.microbatch = 2;
    const Weights expected = run_request(request, kOffloadedIterations);
    request = offloading(request);
    request.tensor_memory = smallest_arena(request);
    EXPECT_EQ(run_request(request, kOffloadedIterations), expected) << name_of(kind);
  }
}

// Gradients that wait for the norm of all may wait in the file, and what a second pass reads is loaded once more.
TEST_P(Offloaded, GivesTheSameBitsWithClipping) {
  CompileRequest request = small_request(GetParam(), 4);
  request.optimizer.clip_norm = 0.1;
  request.microbatch = 4;
  expect_same_bits_in_less(request);
}

TEST_P(Offloaded, GivesTheSameBitsInEveryConfigurationThatOnlyMovesMemory) {
  CompileRequest request = small_request(GetParam(), 4);
  request.microbatch = 4;
  const Weights expected = run_request(request, kOffloadedIterations);
  request = offloading(request);
  const Configuration configurations[] = {{.in_place = false}, {.poison = true}, {.in_place = false, .poison = true}};
  for (const Configuration& configuration : configurations) {
    request.configuration = configuration;
    request.tensor_memory.reset();
    request.tensor_memory = smallest_arena(request);
    const CompileResult result = compile(request, op_table(), cpu_kernels());
    ASSERT_TRUE(result.compiled.has_value());
    EXPECT_GT(result.compiled->plans.spill_bytes, 0);
    EXPECT_EQ(run_compiled(*result.compiled, kOffloadedIterations), expected);
  }
}

TEST_P(Offloaded, IsLeftAloneWhereItIsNotNeeded) {
  CompileRequest request = offloading(small_request(GetParam(), 4));
  const CompileResult result = compile(request, op_table(), cpu_kernels());
  EXPECT_EQ(result.compiled->plans.spill_bytes, 0);
  EXPECT_EQ(result.compiled->plans.staging.bytes, 0);
}

// What is worth spilling depends on how often it moves, so each microbatch has its own answer.
TEST(OffloadedMicrobatch, IsTheFastestOfAllThatFit) {
  CompileRequest request = offloading(small_request("wrn10-1-gn", 8));
  request.recompute = Recompute::none;
  request.microbatch = 8;
  const Bytes most = smallest_arena(request), least = smallest_arena([&] {
                                                CompileRequest one = request;
                                                one.microbatch = 1;
                                                return one;
                                              }());
  ASSERT_LT(least, most);
  for (int part = 0; part < 4; ++part) {
    request.tensor_memory = least + (most - least) * part / 3;
    double fastest = std::numeric_limits<double>::infinity();
    for (const std::int64_t size : {8, 4, 2, 1}) {
      request.microbatch = size;
      const CompileResult result = compile(request, op_table(), cpu_kernels());
      if (result.compiled) fastest = std::min(fastest, result.compiled->point.seconds);
    }
    request.microbatch.reset();
    const CompileResult chosen = compile(request, op_table(), cpu_kernels());
    ASSERT_TRUE(chosen.compiled);
    EXPECT_EQ(chosen.compiled->point.seconds, fastest) << "arena " << *request.tensor_memory;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, Offloaded, ::testing::Values("wrn10-1-gn", "wrn10-1", "lenet-300-100"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace thimble
