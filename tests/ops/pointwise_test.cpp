// Activations and products against numbers worked out by hand, and their gradients over the whole range: the generic
// tests stay within 1.25 of zero, on one side of most corners.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "support/interpreter.h"

namespace thimble::testing {
namespace {

using Numbers = std::vector<double>;

Tensor row(const Numbers& values) { return Tensor({DType::f64, {static_cast<std::int64_t>(values.size())}}, values); }

Numbers values_of(std::string_view op, const Numbers& x) { return run_op(op, {}, {row(x)})[0].values(); }
Numbers values_of(std::string_view op, const Numbers& a, const Numbers& b) {
  return run_op(op, {}, {row(a), row(b)})[0].values();
}
double value_of(std::string_view op, double x) { return values_of(op, {x})[0]; }

void expect_near(const Numbers& found, const Numbers& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-15) << "element " << i;
}

TEST(Relu6, SaturatesOnBothSides) {
  EXPECT_EQ(values_of("relu6", {-kInfinity, -1, 0, 2.5, 6, 6.5, kInfinity}), (Numbers{0, 0, 0, 2.5, 6, 6, 6}));
}

TEST(Relu6, PassesNoGradientAtItsCorners) {
  EXPECT_EQ(values_of("relu6_grad", {0, 1e-300, 3, std::nextafter(6, 0), 6}, {7, 7, 7, 7, 7}),
            (Numbers{0, 7, 7, 7, 0}));
}

Tensor ramp(const Shape& shape, double from, double step) {
  Tensor tensor({DType::f64, shape});
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, from + step * static_cast<double>(i * 7 % 31));
  return tensor;
}

// As the last part of another op relu6 is what it is alone; the operands reach far beyond both corners.
TEST(Relu6, EndsOtherOpsAsItDoesAlone) {
  const Attributes saturates = {{"activation", std::string("relu6")}};
  const Tensor a = ramp({4, 9}, -9, 0.7), b = ramp({4, 9}, -3, 0.3), w = ramp({9, 5}, -0.2, 0.02);
  const Tensor image = ramp({1, 3, 4, 3}, -4, 0.3), filter = ramp({1, 1, 3, 5}, -0.7, 0.1);
  const auto expect_same = [&](std::string_view op, const std::vector<Tensor>& in) {
    const Numbers plain = run_op(op, {}, in)[0].values();
    EXPECT_TRUE(*std::min_element(plain.begin(), plain.end()) < 0 && *std::max_element(plain.begin(), plain.end()) > 6)
        << op << " is not tried at both corners";
    EXPECT_EQ(run_op(op, saturates, in)[0].values(), values_of("relu6", plain)) << op;
  };
  expect_same("add", {a, b});
  expect_same("linear", {a, w});
  expect_same("conv2d", {image, filter});
  expect_same("batch_norm", {a, ramp({9}, 3, 0.2), ramp({9}, -1, 0.2)});
}

TEST(Relu6, BehindANormPassesTheGradientsOfTheTwoApart) {
  const Tensor x = ramp({12, 3}, -4, 0.4), gamma = ramp({3}, 4, 0.2), beta = ramp({3}, 1, 0.1);
  const Tensor dy = ramp({12, 3}, -2, 0.17);
  const Attributes saturates = {{"activation", std::string("relu6")}};
  const std::vector<Tensor> forward = run_op("batch_norm", saturates, {x, gamma, beta});
  const Tensor masked = run_op("relu6_grad", {}, {forward[0], dy})[0];
  const auto fused = run_op("batch_norm_grad", saturates, {x, forward[1], forward[2], gamma, beta, dy});
  const auto apart = run_op("batch_norm_grad", {}, {x, forward[1], forward[2], gamma, beta, masked});
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(fused[k].values(), apart[k].values()) << "output " << k;
  const Numbers y = forward[0].values();
  EXPECT_TRUE(std::count(y.begin(), y.end(), 0.0) > 0 && std::count(y.begin(), y.end(), 6.0) > 0);
}

TEST(Sigmoid, HasTheValuesOfTheLogisticFunction) {
  expect_near(values_of("sigmoid", {0, std::log(3), -std::log(3), std::log(9)}), {0.5, 0.75, 0.25, 0.9});
  EXPECT_EQ(values_of("sigmoid", {-kInfinity, -1e4, 1e4, kInfinity}), (Numbers{0, 0, 1, 1}));
}

TEST(Silu, IsXTimesItsSigmoid) {
  expect_near(values_of("silu", {0, std::log(3), -std::log(3)}), {0, 0.75 * std::log(3), -0.25 * std::log(3)});
  EXPECT_EQ(values_of("silu", {-1e4, 1e4}), (Numbers{0, 1e4}));
  // s = 3/4 and x = log 3: s (1 + x / 4)
  expect_near(values_of("silu_grad", {std::log(3)}, {2}), {1.5 * (1 + std::log(3) / 4)});
}

TEST(HardSwish, IsZeroThenAParabolaThenALine) {
  expect_near(values_of("hard_swish", {-4, -3, -1.5, -1, 0, 1, 3, 5}), {0, 0, -0.375, -1.0 / 3, 0, 2.0 / 3, 3, 5});
}

TEST(HardSwish, CornersHaveTheSlopeOfTheLines) {
  EXPECT_EQ(values_of("hard_swish_grad", {-4, -3, 0, 3, 4}, {2, 2, 2, 2, 2}), (Numbers{0, 0, 1, 2, 2}));
}

TEST(Pointwise, NaNReachesTheOutput) {
  for (const char* op : {"relu6", "sigmoid", "silu", "hard_swish"}) EXPECT_TRUE(std::isnan(value_of(op, kNan))) << op;
  for (const char* op : {"sigmoid_grad", "silu_grad", "hard_swish_grad", "multiply"}) {
    EXPECT_TRUE(std::isnan(values_of(op, {kNan}, {1})[0])) << op;
  }
}

// Central differences err by about 1e-10 with this step.
TEST(Pointwise, GradientsAreTheSlopesFarFromZeroToo) {
  constexpr double kStep = 1e-5;
  for (const char* op : {"relu6", "sigmoid", "silu", "hard_swish"}) {
    const bool reads_output = std::string_view(op) == "relu6" || std::string_view(op) == "sigmoid";
    for (double x = -9.05; x < 9.1; x += 0.1) {  // no corner within a step
      const double slope = (value_of(op, x + kStep) - value_of(op, x - kStep)) / (2 * kStep);
      const double kept = reads_output ? value_of(op, x) : x;
      EXPECT_NEAR(values_of(std::string(op) + "_grad", {kept}, {1})[0], slope, 1e-8) << op << " at " << x;
    }
  }
}

TEST(Multiply, WantsOneShape) {
  EXPECT_EQ(values_of("multiply", {2, -3, 0.5}, {4, 5, 6}), (Numbers{8, -15, 3}));
  EXPECT_THROW(values_of("multiply", {1, 2}, {1}), UserError);
}

TEST(ScaleChannels, GivesEverySampleAndChannelItsOwnFactor) {
  const Tensor x({DType::f64, {2, 1, 2, 2}}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor s({DType::f64, {2, 2}}, {1, 10, 100, 1000});
  EXPECT_EQ(run_op("scale_channels", {}, {x, s})[0].values(), (Numbers{1, 20, 3, 40, 500, 6000, 700, 8000}));
  const Tensor dy({DType::f64, {2, 1, 2, 2}}, {1, 1, 10, 10, 1, 1, 10, 10});
  EXPECT_EQ(run_op("scale_channels_grad", {{"dtype", std::string("f64")}}, {x, dy})[0].values(),
            (Numbers{31, 42, 75, 86}));
}

TEST(ScaleChannels, TakesWideScalesBesideNarrowImagesAndNotTheOtherWay) {
  const Tensor narrow({DType::bf16, {1, 1, 2, 1}}, {3, 5}), wide({DType::f32, {1, 1, 2, 1}}, {3, 5});
  const Tensor s({DType::f32, {1, 1}}, {2}), narrow_s({DType::bf16, {1, 1}}, {2});
  const std::vector<Tensor> y = run_op("scale_channels", {}, {narrow, s});
  EXPECT_EQ(y[0].type.dtype, DType::bf16);
  EXPECT_EQ(y[0].values(), (Numbers{6, 10}));
  EXPECT_THROW(run_op("scale_channels", {}, {wide, narrow_s}), UserError);
  EXPECT_THROW(run_op("scale_channels_grad", {{"dtype", std::string("bf16")}}, {wide, wide}), UserError);
}

TEST(ScaleChannels, RefusesScalesOfAnotherShape) {
  const Tensor x({DType::f32, {2, 1, 2, 3}});
  for (const Shape& shape : {Shape{3, 2}, Shape{2, 1, 1, 3}, Shape{3}, Shape{1, 3}}) {
    EXPECT_THROW(run_op("scale_channels", {}, {x, Tensor({DType::f32, shape})}), UserError) << to_text(shape);
  }
}

}  // namespace
}  // namespace thimble::testing
