// Bilinear interpolation against numbers worked out by hand, and transposed convolution against the windows it paints.
#include <gtest/gtest.h>

#include "support/interpreter.h"

namespace thimble::testing {
namespace {

using Numbers = std::vector<double>;

Attributes size(std::int64_t height, std::int64_t width) { return {{"height", height}, {"width", width}}; }

Numbers resized(const Shape& shape, const Numbers& values, const Attributes& attributes) {
  return run_op("upsample_bilinear", attributes, {Tensor({DType::f64, shape}, values)})[0].values();
}

// Centres lie at quarters between the old ones; beyond the outermost centres the border is repeated.
TEST(Resize, DoublesALineByQuarters) {
  EXPECT_EQ(resized({1, 1, 3, 1}, {0, 4, 12}, size(1, 6)), (Numbers{0, 1, 3, 6, 10, 12}));
}

TEST(Resize, DoublesASquareInBothDirections) {
  EXPECT_EQ(resized({1, 2, 2, 1}, {0, 4, 8, 12}, size(4, 4)),
            (Numbers{0, 1, 3, 4, 2, 3, 5, 6, 6, 7, 9, 10, 8, 9, 11, 12}));
}

TEST(Resize, TakesTheMiddleOfPairsWhenItHalves) {
  EXPECT_EQ(resized({1, 1, 4, 1}, {0, 2, 10, 20}, size(1, 2)), (Numbers{1, 15}));
}

TEST(Resize, KeepsAnImageOfItsOwnSizeAndAFlatOneFlat) {
  const Numbers values = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
  EXPECT_EQ(resized({1, 2, 3, 2}, values, size(2, 3)), values);
  EXPECT_EQ(resized({1, 1, 1, 1}, {7}, size(2, 3)), Numbers(6, 7.0));
}

// Each output place hands out a whole: the sum of the gradient is kept.
TEST(Resize, TheGradientHandsOutAllItGets) {
  for (const Attributes& attributes : {size(3, 2), size(7, 9), size(4, 5), size(1, 1)}) {
    const Tensor dy({DType::f64, {1, 4, 5, 1}}, Numbers(20, 1.0));
    double sum = 0;
    for (const double value : run_op("upsample_bilinear_grad", attributes, {dy})[0].values()) sum += value;
    EXPECT_NEAR(sum, 20, 1e-12);
  }
}

// One place of the input paints the kernel once, `stride` apart, the first `padding` rows and columns cut off.
TEST(TransposedConvolution, PaintsTheKernelAtEveryPlace) {
  const Tensor x({DType::f64, {1, 2, 2, 1}}, Numbers{1, 10, 100, 1000});
  const Tensor w({DType::f64, {2, 2, 1, 1}}, Numbers{1, 2, 3, 4});
  Attributes attributes = size(4, 4);
  attributes.set("stride", std::int64_t{2});
  EXPECT_EQ(run_op("conv2d_grad_input", attributes, {x, w})[0].values(),
            (Numbers{1, 2, 10, 20, 3, 4, 30, 40, 100, 200, 1000, 2000, 300, 400, 3000, 4000}));
}

}  // namespace
}  // namespace thimble::testing
