// Results that are written past the caches are those that are not: tensors off a cache line never are.
#include <gtest/gtest.h>

#include "kernels/support/kernel_lookup.h"
#include "kernels/support/kernel_run.h"
#include "ops/table.h"

namespace thimble::testing {
namespace {

const Shape kLarge = {2, 300, 256, 64};  // 37.5 MiB of f32

void expect_same_off_a_line(std::string_view op, const std::vector<Type>& types, const Attributes& given) {
  const OpDef& def = *find_op(op_table(), op);
  const OpCase c{&def, types, complete_attributes(def, given)};
  std::vector<Tensor> in;
  for (std::size_t k = 0; k < types.size(); ++k) {
    in.emplace_back(types[k]);
    // Cheaper than random numbers, and no two neighbours alike.
    for (std::int64_t i = 0; i < in[k].count(); ++i) in[k].set(i, static_cast<double>((i * 37 + i / 61) % 101) / 64);
  }
  for (const Isa isa : runnable_isas()) {
    const Kernel& kernel = kernel_for(op, isa);
    const RunResult lined = run_kernel(kernel, c, in, {.threads = 2});
    const RunResult shifted = run_kernel(kernel, c, in, {.threads = 2, .is_shifted = true});
    EXPECT_TRUE(lined.is_inside && shifted.is_inside) << op << " on " << name_of(isa);
    EXPECT_TRUE(lined.out[0].bytes == shifted.out[0].bytes) << op << " on " << name_of(isa);
  }
}

TEST(Stream, LargeNormalizedMapsAreTheSame) {
  const Type x{DType::f32, kLarge}, channel{DType::f32, {kLarge[3]}};
  expect_same_off_a_line("normalize", {x, channel, channel, channel, channel}, {{"activation", std::string("relu")}});
  expect_same_off_a_line("normalize", {x, channel, channel, channel, channel, x}, {});
}

// The second sample begins in the middle of a line.
TEST(Stream, LargeSamplesOfOddSizesAreTheSame) {
  const std::int64_t channels = 8, groups = 2;
  const Type x{DType::f32, {2, 1001, 1051, channels}}, statistic{DType::f32, {2, groups}},
      channel{DType::f32, {channels}};
  expect_same_off_a_line("normalize", {x, statistic, statistic, channel, channel}, {{"groups", groups}});
}

TEST(Stream, LargeResultsOfDepthwiseConvolutionsAreTheSame) {
  const Type x{DType::f32, kLarge}, w{DType::f32, {3, 3, 1, kLarge[3]}};
  Attributes window = {{"padding", std::int64_t{1}}, {"groups", kLarge[3]}};
  expect_same_off_a_line("conv2d", {x, w}, window);
  window.set("height", kLarge[1]);
  window.set("width", kLarge[2]);
  expect_same_off_a_line("conv2d_grad_input", {x, w}, window);
}

}  // namespace
}  // namespace thimble::testing
