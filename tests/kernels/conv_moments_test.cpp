// Moments that convolutions gather of what they make, where a careless sum would lose them: means far from zero, and a
// map whose first pixels are nothing like the others.
#include <gtest/gtest.h>

#include "kernels/support/kernel_lookup.h"
#include "kernels/support/kernel_run.h"
#include "ops/table.h"

namespace thimble::testing {
namespace {

// Every kernel that runs here and serves the case, on one thread and on several.
void expect_moments(const Type& x, const Type& w, const Attributes& given, const std::vector<Tensor>& in) {
  const OpDef& def = *find_op(op_table(), "conv2d");
  std::vector<Type> types = {x, w};
  if (in.size() == 3) types.push_back(in[2].type);
  const OpCase c{&def, types, complete_attributes(def, given)};
  const std::vector<Type> out = c.out();
  int tested = 0;
  for (const Kernel* kernel : cpu_kernels()) {
    if (kernel->op != "conv2d" || !includes(detect_isa(), kernel->isa)) continue;
    for (const int threads : {1, 3}) {
      if (!kernel->refuse(query_of(c, out, threads)).empty()) continue;
      SCOPED_TRACE(join_text(kernel->name, " on ", name_of(kernel->isa), ", ", threads, " threads: ", describe(c)));
      const std::vector<Tensor> got = run_kernel(*kernel, c, in, {.threads = threads}).out;
      const std::vector<Tensor> want =
          run_op(*find_op(op_table(), "batch_moments"), {{"eps", 1e-5}}, {got[0]}, kTestScalars);
      EXPECT_LT(difference_of(got[1], want[0]).relative_max, 1e-6);
      EXPECT_LT(difference_of(got[2], want[1]).relative_max, 1e-5);
      ++tested;
    }
  }
  EXPECT_GT(tested, 0);
}

void expect_moments_with_bias(const Shape& x, const Shape& w, std::int64_t groups) {
  const Type source{DType::f32, x}, weights{DType::f32, w}, bias{DType::f32, {w[3]}};
  const Attributes attributes = {{"padding", w[0] / 2}, {"groups", groups}, {"moments_eps", 1e-5}};
  std::vector<Tensor> in = {normal_tensor(source, 0), normal_tensor(weights, 1), normal_tensor(bias, 2, 1000, 300)};
  expect_moments(source, weights, attributes, in);
  // The first image is blank: its pixels are the bias, as if nothing ever varied.
  for (std::int64_t i = 0; i < in[0].count() / x[0]; ++i) in[0].set(i, 0);
  expect_moments(source, weights, attributes, in);
}

// Without bias and rectifier sums are taken as they are stored, of both signs and of one alone, far from zero.
void expect_moments_alone(const Shape& x, const Shape& w, std::int64_t groups) {
  for (const double mean : {0.0, 200.0}) {
    const Type source{DType::f32, x}, weights{DType::f32, w};
    const Attributes attributes = {{"padding", w[0] / 2}, {"groups", groups}, {"moments_eps", 1e-5}};
    std::vector<Tensor> in = {normal_tensor(source, 0, mean), normal_tensor(weights, 1, mean / 100)};
    expect_moments(source, weights, attributes, in);
    for (std::int64_t i = 0; i < in[0].count() / x[0]; ++i) in[0].set(i, 0);
    expect_moments(source, weights, attributes, in);
  }
}

TEST(ConvMoments, OfPointwiseConvolutionsAreThoseOfTheirOutput) {
  expect_moments_with_bias({3, 19, 23, 20}, {1, 1, 20, 37}, 1);
}
TEST(ConvMoments, OfDepthwiseConvolutionsAreThoseOfTheirOutput) {
  expect_moments_with_bias({3, 19, 23, 37}, {3, 3, 1, 37}, 37);
}
// More weights than a core's cache holds: several groups of panels.
TEST(ConvMoments, OfConvolutionsWithManyWeightsAreThoseOfTheirOutput) {
  expect_moments_with_bias({2, 7, 7, 160}, {3, 3, 160, 200}, 1);
  expect_moments_with_bias({3, 5, 6, 320}, {3, 3, 160, 200}, 2);
}
TEST(ConvMoments, OfLongRowsAreThoseOfTheirOutput) {
  expect_moments_with_bias({1, 4, 700, 40}, {1, 1, 40, 20}, 1);
  expect_moments_with_bias({1, 3, 700, 37}, {3, 3, 1, 37}, 37);
}
TEST(ConvMoments, OfTilesAreThoseOfTheirOutput) { expect_moments_with_bias({2, 41, 35, 32}, {3, 3, 32, 48}, 1); }

TEST(ConvMoments, AreGatheredAsResultsAreStored) {
  expect_moments_alone({3, 19, 23, 20}, {1, 1, 20, 37}, 1);
  expect_moments_alone({2, 21, 35, 32}, {3, 3, 32, 48}, 1);
  expect_moments_alone({2, 9, 7, 24}, {3, 3, 12, 40}, 2);
}
// Rows so short that several wait for each other, one that fills the sums to the last pixel, and longer ones.
TEST(ConvMoments, OfDepthwiseRowsOfAnyLengthAreGathered) {
  for (const std::int64_t width : {1, 7, 50, 64, 127, 128, 129, 300})
    expect_moments_alone({2, 5, width, 37}, {3, 3, 1, 37}, 37);
  expect_moments_alone({1, 1, 1, 16}, {3, 3, 1, 16}, 16);
}

}  // namespace
}  // namespace thimble::testing
