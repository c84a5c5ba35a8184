#include "measure/bench_figures.h"

#include <gtest/gtest.h>

namespace thimble::testing {
namespace {

constexpr Roofs kRoofs{.flops_per_second = 100, .read_bytes_per_second = 8, .bytes_per_second = 10};

KernelWork work(const std::string& op, const std::string& shape, double flops, double bytes) {
  return {.op = op,
          .kernel = op,
          .use = op + " " + shape,
          .shape = shape,
          .demand = {.flops = flops, .bytes = bytes},
          .predicted_seconds = 1};
}

TEST(Roof, IsTheLongerOfArithmeticAndTraffic) {
  EXPECT_DOUBLE_EQ(roof_seconds(kRoofs, {Products::f32, 200, 10}), 2);
  EXPECT_DOUBLE_EQ(roof_seconds(kRoofs, {Products::f32, 200, 30}), 3);
  EXPECT_DOUBLE_EQ(roof_seconds(kRoofs, {Products::f32, 0, 0}), 0);
}

TEST(Roof, OfReadingIsItsOwn) {
  EXPECT_DOUBLE_EQ(roof_seconds(kRoofs, {.flops = 0, .bytes = 40, .read_bytes = 24}), 4);
  EXPECT_DOUBLE_EQ(roof_seconds(kRoofs, {.flops = 0, .bytes = 40, .read_bytes = 40}), 5);
}

TEST(Roof, OfTwoMeasurementsIsTheBetterOfEach) {
  Roofs later = {
      .flops_per_second = 90, .bf16_flops_per_second = 150, .read_bytes_per_second = 9, .bytes_per_second = 10};
  later.cache_bytes = 64;
  for (const Roofs& both : {better_of(kRoofs, later), better_of(later, kRoofs)}) {
    EXPECT_EQ(both.flops_per_second, 100);
    EXPECT_EQ(both.bf16_flops_per_second, 150);
    EXPECT_EQ(both.matrix_flops_per_second, std::nullopt);
    EXPECT_EQ(both.read_bytes_per_second, 9);
    EXPECT_EQ(both.bytes_per_second, 10);
  }
  EXPECT_EQ(better_of(later, kRoofs).cache_bytes, 64);
}

TEST(Roof, OfPairsIsTheirOwnWhereTheMachineHasThem) {
  Roofs roofs = kRoofs;
  EXPECT_DOUBLE_EQ(roof_seconds(roofs, {Products::bf16_pairs, 200, 1}), 2);
  roofs.bf16_flops_per_second = 200;
  EXPECT_DOUBLE_EQ(roof_seconds(roofs, {Products::bf16_pairs, 200, 1}), 1);
  EXPECT_DOUBLE_EQ(roof_seconds(roofs, {Products::bf16_pairs, 200, 30}), 3);
  EXPECT_DOUBLE_EQ(roof_seconds(roofs, {Products::bf16_matrices, 200, 1}), 2);
  roofs.matrix_flops_per_second = 800;
  EXPECT_DOUBLE_EQ(roof_seconds(roofs, {Products::bf16_matrices, 200, 1}), 0.25);
  EXPECT_DOUBLE_EQ(roof_seconds(roofs, {Products::bf16_pairs, 200, 1}), 1);
  EXPECT_EQ(products_of(Isa::amx_bf16), Products::bf16_matrices);
  EXPECT_EQ(products_of(Isa::avx512_bf16), Products::bf16_pairs);
  EXPECT_EQ(products_of(Isa::avx512), Products::f32);
  EXPECT_DOUBLE_EQ(roof_seconds(roofs, {Products::f32, 200, 1}), 2);
}

// Two shapes of one op, of which the first is called twice (say, because it is recomputed), and another op.
BenchTimes three_works() {
  BenchTimes times;
  times.works = {work("conv", "small", 100, 1), work("conv", "large", 300, 1), work("add", "any", 0, 10)};
  times.steps = {{0, {1, 2, 9}}, {1, {6, 6, 6}}, {2, {5, 5, 5}}, {0, {2, 2, 1}}};
  times.iteration_seconds = {15, 16, 22};
  return times;
}

TEST(BenchFigures, GroupByKernelAndOperands) {
  const BenchFigures figures = bench_figures(three_works(), kRoofs);
  ASSERT_EQ(figures.kernels.size(), 3U);
  const BenchRow& small = figures.kernels[2];
  EXPECT_EQ(small.shape, "small");
  EXPECT_EQ(small.calls, 2);
  EXPECT_EQ(small.seconds, 4);       // of the sums 3, 4 and 10
  EXPECT_EQ(small.call_seconds, 2);  // of 1, 2, 9, 2, 2, 1
  EXPECT_EQ(small.flops, 200);
  EXPECT_EQ(small.bytes, 2);
  EXPECT_DOUBLE_EQ(small.roof_seconds, 2);
  EXPECT_DOUBLE_EQ(small.share_of_roof(), 0.5);
  EXPECT_FALSE(small.is_far_from_roof());
}

TEST(BenchFigures, TotalsByOpComeLongestFirst) {
  const BenchFigures figures = bench_figures(three_works(), kRoofs);
  ASSERT_EQ(figures.ops.size(), 2U);
  EXPECT_EQ(figures.ops[0].op, "conv");
  EXPECT_EQ(figures.ops[0].calls, 3);
  EXPECT_EQ(figures.ops[0].seconds, 10);  // of 9, 10 and 16
  EXPECT_DOUBLE_EQ(figures.ops[0].roof_seconds, 5);
  EXPECT_EQ(figures.ops[1].op, "add");
  EXPECT_TRUE(figures.ops[1].is_far_from_roof());  // 1 of 5
}

TEST(BenchFigures, WhatLiesBetweenStepsIsTheRestOfTheIteration) {
  const BenchFigures figures = bench_figures(three_works(), kRoofs);
  EXPECT_EQ(figures.calls, 4);
  EXPECT_EQ(figures.iteration_seconds, 16);
  EXPECT_EQ(figures.fastest_seconds, 15);
  EXPECT_EQ(figures.slowest_seconds, 22);
  EXPECT_EQ(figures.step_seconds, 15);  // of 14, 15 and 21
  EXPECT_EQ(figures.between_seconds(), 1);
  EXPECT_EQ(figures.predicted_seconds, 4);
}

TEST(BenchFigures, WhatComputesNothingHasNoRoof) {
  BenchTimes times;
  times.works = {work("transfer", "", 0, 0)};
  times.steps = {{0, {3}}};
  const BenchFigures figures = bench_figures(times, kRoofs);
  EXPECT_EQ(figures.kernels[0].share_of_roof(), 0);
  EXPECT_FALSE(figures.kernels[0].is_far_from_roof());
}

}  // namespace
}  // namespace thimble::testing
