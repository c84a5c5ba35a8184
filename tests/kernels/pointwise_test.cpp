// The pointwise kernels over the whole range of f32: the generic tests stay within 1.25 of zero.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/support/kernel_lookup.h"

namespace thimble::testing {
namespace {

class Pointwise : public ::testing::TestWithParam<Isa> {
 protected:
  std::vector<double> by_kernel(std::string_view op, const std::vector<Tensor>& in) const {
    return run_by_kernel(op, GetParam(), {}, in, 1)[0].values();
  }
};
INSTANTIATE_TEST_SUITE_P(All, Pointwise, ::testing::ValuesIn(runnable_isas()),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

// What the reference makes of the same numbers before they are rounded to f32.
std::vector<double> exact(std::string_view op, std::vector<Tensor> in) {
  for (Tensor& tensor : in) tensor = Tensor({DType::f64, tensor.type.shape}, tensor.values());
  return run_op(op, {}, in)[0].values();
}

Tensor row(const std::vector<double>& values) {
  return Tensor({DType::f32, {static_cast<std::int64_t>(values.size())}}, values);
}
Tensor sweep(double from, double to) {
  std::vector<double> values;
  for (double x = from; x < to; x += 1.0 / 512 + 1.0 / 65536) values.push_back(x);
  return row(values);
}
Tensor ones_beside(const Tensor& x) {
  return Tensor(x.type, std::vector<double>(static_cast<std::size_t>(x.count()), 1.0));
}

// The distance of f32 numbers near `value`; those below the smallest normal one are as far apart as the first above.
double unit_at(double value) {
  constexpr double kSmallestNormal = 0x1.0p-126;
  return std::exp2(std::floor(std::log2(std::max(std::abs(value), kSmallestNormal))) - 23);
}

void expect_within_units(const std::vector<double>& got, const std::vector<double>& want, const Tensor& x,
                         double units) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - want[i]), units * unit_at(want[i]))
        << "at " << x.at(static_cast<std::int64_t>(i)) << " found " << got[i] << ", wanted " << want[i];
  }
}

// exp within one unit, a sum and a quotient of half a unit each.
TEST_P(Pointwise, SigmoidIsPreciseWhereverItIsANormalNumber) {
  const Tensor x = sweep(-87, 110);
  expect_within_units(by_kernel("sigmoid", {x}), exact("sigmoid", {x}), x, 2.5);
}

TEST_P(Pointwise, SiluIsPreciseWhereverItsSigmoidIsANormalNumber) {
  const Tensor x = sweep(-87, 110);
  expect_within_units(by_kernel("silu", {x}), exact("silu", {x}), x, 2.5);
}

TEST_P(Pointwise, ExponentialsBelowTheNormalNumbersFadeToZero) {
  const Tensor x = row({-87.5, -90, -100, -104, -200, -1e30});
  const std::vector<double> sigmoid = by_kernel("sigmoid", {x}), silu = by_kernel("silu", {x});
  const std::vector<double> slope = by_kernel("silu_grad", {x, ones_beside(x)});
  for (std::size_t i = 0; i < sigmoid.size(); ++i) {
    EXPECT_TRUE(sigmoid[i] >= 0 && sigmoid[i] < 0x1.0p-125) << sigmoid[i];
    EXPECT_TRUE(silu[i] <= 0 && silu[i] > -0x1.0p-118) << silu[i];
    EXPECT_TRUE(slope[i] <= 0 && slope[i] > -0x1.0p-118) << slope[i];
  }
}

TEST_P(Pointwise, InfinitiesSaturate) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(by_kernel("sigmoid", {row({-infinity, infinity})}), (std::vector<double>{0, 1}));
  EXPECT_EQ(by_kernel("relu6", {row({-infinity, infinity})}), (std::vector<double>{0, 6}));
  EXPECT_EQ(by_kernel("silu", {row({infinity})}), (std::vector<double>{infinity}));
  EXPECT_EQ(by_kernel("hard_swish", {row({infinity})}), (std::vector<double>{infinity}));
}

// Slopes are of order one and cross zero: measured in units of one.
TEST_P(Pointwise, GradientsArePreciseOverTheWholeRange) {
  const Tensor x = sweep(-110, 110), dy = ones_beside(x);
  for (const char* op : {"silu_grad", "hard_swish_grad"}) {
    const std::vector<double> got = by_kernel(op, {x, dy}), want = exact(op, {x, dy});
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 3 * 0x1.0p-23) << op << " at " << x.at(static_cast<std::int64_t>(i));
    }
  }
  const Tensor y = sweep(0, 1), dy_of_y = ones_beside(y);
  expect_within_units(by_kernel("sigmoid_grad", {y, dy_of_y}), exact("sigmoid_grad", {y, dy_of_y}), y, 2);
}

TEST_P(Pointwise, HardSwishIsPreciseAndTheIdentityBeyondThree) {
  const Tensor x = sweep(-110, 110);
  const std::vector<double> got = by_kernel("hard_swish", {x}), want = exact("hard_swish", {x});
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double at = x.at(static_cast<std::int64_t>(i));
    if (std::abs(at) >= 3) {
      ASSERT_EQ(got[i], at > 0 ? at : 0) << "at " << at;
    }
    ASSERT_NEAR(got[i], want[i], 2 * unit_at(at)) << "at " << at;
  }
}

TEST_P(Pointwise, CornersLieWhereTheReferenceHasThem) {
  std::vector<double> corners;
  for (const float corner : {-3.0F, -0.0F, 0.0F, 3.0F, 6.0F}) {
    corners.push_back(static_cast<double>(corner));
    corners.push_back(static_cast<double>(std::nextafter(corner, -100.0F)));
    corners.push_back(static_cast<double>(std::nextafter(corner, 100.0F)));
  }
  const Tensor x = row(corners), dy = ones_beside(x);
  EXPECT_EQ(by_kernel("relu6", {x}), exact("relu6", {x}));
  EXPECT_EQ(by_kernel("relu6_grad", {x, dy}), exact("relu6_grad", {x, dy}));
  const std::vector<double> got = by_kernel("hard_swish_grad", {x, dy}), want = exact("hard_swish_grad", {x, dy});
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 0x1.0p-23) << "at " << corners[i];
}

TEST_P(Pointwise, NaNReachesTheOutputInEveryLane) {
  const std::int64_t count = 37;  // whole vectors and a rest on both instruction sets
  for (const char* op : {"relu6", "sigmoid", "silu", "hard_swish"}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (std::int64_t lane = 0; lane < count; ++lane) {
        Tensor x({dtype, {count}}, std::vector<double>(static_cast<std::size_t>(count), 1.0));
        x.set(lane, std::nan(""));
        const std::vector<double> y = by_kernel(op, {x});
        for (std::int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(std::isnan(y[static_cast<std::size_t>(i)]), i == lane) << op << " element " << i;
        }
      }
    }
  }
  for (const char* op : {"sigmoid_grad", "silu_grad", "hard_swish_grad", "multiply"}) {
    EXPECT_TRUE(std::isnan(by_kernel(op, {row({std::nan("")}), row({1})})[0])) << op;
  }
}

}  // namespace
}  // namespace thimble::testing
