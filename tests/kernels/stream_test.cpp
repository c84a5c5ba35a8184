// Maps so large that they are walked another way than small ones, against references, and results that are written past
// the caches, which are those that are not: tensors off a cache line never are.
#include <gtest/gtest.h>

#include "kernels/support/kernel_lookup.h"
#include "kernels/support/kernel_run.h"
#include "ops/table.h"

namespace thimble::testing {
namespace {

const Shape kLarge = {2, 300, 256, 64};  // 37.5 MiB of f32

OpCase case_of(std::string_view op, const std::vector<Type>& types, const Attributes& given) {
  const OpDef& def = *find_op(op_table(), op);
  return {&def, types, complete_attributes(def, given)};
}

// Cheaper than random numbers, and no two neighbours alike.
std::vector<Tensor> inputs_of(const std::vector<Type>& types) {
  std::vector<Tensor> in;
  for (std::size_t k = 0; k < types.size(); ++k) {
    in.emplace_back(types[k]);
    const auto shift = static_cast<std::int64_t>(k) * 7;
    for (std::int64_t i = 0; i < in[k].count(); ++i)
      in[k].set(i, static_cast<double>((i * 37 + i / 61 + shift) % 101) / 64);
  }
  return in;
}

void expect_same_off_a_line(std::string_view op, const std::vector<Type>& types, const Attributes& given) {
  const OpCase c = case_of(op, types, given);
  const std::vector<Tensor> in = inputs_of(types);
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

// Tiles of whole vectors are, and such that end in the middle of one are not.
TEST(Stream, LargeResultsOfConvolutionsAreTheSame) {
  const Type x{DType::f32, {2, 300, 256, 16}}, w{DType::f32, {1, 1, 16, kLarge[3]}};
  expect_same_off_a_line("conv2d", {x, w}, {});
  expect_same_off_a_line("conv2d", {x, w}, {{"moments_eps", 1e-5}});
  const Type odd{DType::f32, {2, 300, 256, 5}}, uneven{DType::f32, {1, 1, 5, 72}};
  expect_same_off_a_line("conv2d", {odd, uneven}, {{"moments_eps", 1e-5}});
  const Type grouped{DType::f32, {1, 1, 8, 80}};  // the second group begins in the middle of a line
  expect_same_off_a_line("conv2d", {x, grouped}, {{"groups", std::int64_t{2}}, {"moments_eps", 1e-5}});
  const Type dy{DType::f32, {2, 300, 256, 16}}, back{DType::f32, {1, 1, kLarge[3], 16}};
  const Attributes size = {{"height", kLarge[1]}, {"width", kLarge[2]}};
  expect_same_off_a_line("conv2d_grad_input", {dy, back}, size);
  expect_same_off_a_line("conv2d_grad_input", {dy, back, {DType::f32, kLarge}}, size);
}

// Pieces of whole lines, and such that end in the middle of one.
TEST(Stream, LargeMapsThatAreJoinedAndCutAreTheSame) {
  const Type half{DType::f32, {2, 300, 256, 32}}, odd{DType::f32, {2, 300, 256, 33}}, narrow{DType::bf16, kLarge};
  expect_same_off_a_line("concat", {half, half}, {{"axis", std::int64_t{3}}});
  expect_same_off_a_line("concat", {half, odd}, {{"axis", std::int64_t{3}}});
  expect_same_off_a_line("concat", {narrow, narrow}, {{"axis", std::int64_t{-1}}});
  const Type x{DType::f32, {2, 300, 256, 80}};
  const auto piece = [](std::int64_t begin, std::int64_t end) {
    return Attributes{{"axis", std::int64_t{3}}, {"begin", begin}, {"end", end}};
  };
  expect_same_off_a_line("slice", {x}, piece(0, 64));
  expect_same_off_a_line("slice", {x}, piece(3, 67));
  expect_same_off_a_line("slice", {x}, piece(5, 75));
}

void expect_reference(std::string_view op, const std::vector<Type>& types, const Attributes& given) {
  const OpCase c = case_of(op, types, given);
  const std::vector<Tensor> in = inputs_of(types), want = run_op(*c.op, c.attributes, in, kTestScalars);
  for (const Isa isa : runnable_isas()) {
    for (const int threads : {1, 2}) {
      const RunResult got = run_kernel(kernel_for(op, isa), c, in, {.threads = threads});
      EXPECT_TRUE(got.is_inside) << op << " on " << name_of(isa);
      for (std::size_t k = 0; k < want.size(); ++k)
        EXPECT_LE(difference_of(got.out[k], want[k]).relative_max, 1e-5) << op << " on " << name_of(isa);
    }
  }
}

// More than four million elements, with rows that are folded and end in the middle, and with odd ones that are not.
TEST(StreamedNorms, OfLargeMapsAgreeWithTheReference) {
  for (const Shape& shape : {Shape{2, 509, 601, 7}, Shape{1, 257, 129, 130}}) {
    const Type x{DType::f32, shape}, channel{DType::f32, {shape[3]}};
    expect_reference("normalize", {x, channel, channel, channel, channel}, {{"activation", std::string("relu")}});
    expect_reference("batch_norm_grad", {x, channel, channel, channel, channel, x}, {});
    expect_reference("batch_norm_grad", {x, channel, channel, channel, channel, x, x}, {});
  }
}

}  // namespace
}  // namespace thimble::testing
