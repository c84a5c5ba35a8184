// The trickiest ops against numbers worked out by hand and against formulas written in another way.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "support/interpreter.h"

namespace thimble::testing {
namespace {

using Numbers = std::vector<double>;

Tensor f64(const Shape& shape, const Numbers& values) { return Tensor({DType::f64, shape}, values); }

// Normal numbers; `stream` tells tensors of one test apart.
Tensor random_tensor(DType dtype, const Shape& shape, std::uint64_t stream) {
  Tensor tensor({dtype, shape});
  const RandomKey key = random_key(1, RandomPurpose::test, stream);
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, random_normal(key, static_cast<std::uint64_t>(i)));
  return tensor;
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.count(); ++i) sum += a.at(i) * b.at(i);
  return sum;
}

// Rounding of f64 sums of a few hundred products of order one.
constexpr double kSumTolerance = 1e-11;

struct ConvCase {
  Shape x, w;
  std::int64_t stride, padding, dilation, groups;

  Attributes attributes() const {
    return {{"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}};
  }
};

const std::vector<ConvCase> kConvCases = {
    {{2, 5, 4, 3}, {3, 3, 3, 2}, 1, 1, 1, 1}, {{1, 7, 6, 4}, {1, 1, 4, 3}, 2, 0, 1, 1},
    {{2, 9, 8, 2}, {7, 7, 2, 3}, 2, 3, 1, 1}, {{1, 6, 7, 6}, {3, 3, 2, 9}, 2, 1, 1, 3},
    {{2, 5, 5, 4}, {3, 3, 1, 8}, 1, 1, 1, 4}, {{1, 11, 9, 4}, {3, 2, 2, 2}, 3, 2, 2, 2},
    {{1, 4, 4, 2}, {2, 4, 2, 1}, 1, 5, 3, 1},
};

// Scatters every product x * w to the output it belongs to: no windows, no bounds of taps, unlike the reference.
Tensor scattered_conv(const ConvCase& c, const Tensor& x, const Tensor& w, const Shape& y_shape) {
  Tensor y({DType::f64, y_shape});
  const std::int64_t group_outputs = c.w[3] / c.groups;
  for (std::int64_t n = 0; n < x.count(); ++n) {
    const std::int64_t channel = n % c.x[3], column = n / c.x[3] % c.x[2], row = n / (c.x[3] * c.x[2]) % c.x[1];
    const std::int64_t sample = n / (c.x[3] * c.x[2] * c.x[1]);
    for (std::int64_t m = 0; m < w.count(); ++m) {
      const std::int64_t o = m % c.w[3], in_group = m / c.w[3] % c.w[2], j = m / (c.w[3] * c.w[2]) % c.w[1];
      const std::int64_t i = m / (c.w[3] * c.w[2] * c.w[1]);
      if (o / group_outputs * c.w[2] + in_group != channel) continue;
      const std::int64_t down = row + c.padding - i * c.dilation, right = column + c.padding - j * c.dilation;
      if (down < 0 || right < 0 || down % c.stride != 0 || right % c.stride != 0) continue;
      if (down / c.stride >= y_shape[1] || right / c.stride >= y_shape[2]) continue;
      const std::int64_t place =
          ((sample * y_shape[1] + down / c.stride) * y_shape[2] + right / c.stride) * y_shape[3] + o;
      y.set(place, y.at(place) + x.at(n) * w.at(m));
    }
  }
  return y;
}

TEST(Conv2d, SlidesTheKernelWithoutTurningItOver) {
  const Tensor x = f64({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor w = f64({2, 2, 1, 1}, {1, 10, 100, 1000});
  EXPECT_EQ(run_op("conv2d", {}, {x, w})[0].values(), (Numbers{5421, 6532, 8754, 9865}));
  EXPECT_EQ(run_op("conv2d", {{"stride", 2}, {"padding", 1}}, {x, w})[0].values(), (Numbers{1000, 3200, 7040, 9865}));
  EXPECT_EQ(run_op("conv2d", {{"dilation", 2}}, {x, w})[0].values(), (Numbers{9731}));
}

TEST(Conv2d, GroupsSeeTheirOwnChannelsOnly) {
  const Tensor x = f64({1, 1, 1, 4}, {1, 2, 3, 4});
  // Two groups of two channels; each makes one output: 1*1 + 2*10 and 3*100 + 4*1000.
  const Tensor w = f64({1, 1, 2, 2}, {1, 100, 10, 1000});
  EXPECT_EQ(run_op("conv2d", {{"groups", 2}}, {x, w})[0].values(), (Numbers{21, 4300}));
}

TEST(Conv2d, BiasComesBeforeTheRectifier) {
  const Tensor x = f64({1, 1, 2, 1}, {1, -1});
  const Tensor w = f64({1, 1, 1, 2}, {2, -2});
  const Tensor bias = f64({2}, {1, -1});
  EXPECT_EQ(run_op("conv2d", {}, {x, w, bias})[0].values(), (Numbers{3, -3, -1, 1}));
  EXPECT_EQ(run_op("conv2d", {{"activation", "relu"}}, {x, w, bias})[0].values(), (Numbers{3, 0, 0, 1}));
}

TEST(Conv2d, EqualsTheScatteredSum) {
  for (const ConvCase& c : kConvCases) {
    SCOPED_TRACE(to_text(c.x) + to_text(c.w) + to_text(c.attributes()));
    const Tensor x = random_tensor(DType::f64, c.x, 1), w = random_tensor(DType::f64, c.w, 2);
    const Tensor y = run_op("conv2d", c.attributes(), {x, w})[0];
    const Tensor wanted = scattered_conv(c, x, w, y.type.shape);
    for (std::int64_t i = 0; i < y.count(); ++i) ASSERT_NEAR(y.at(i), wanted.at(i), kSumTolerance);
  }
}

// <conv(x, w), dy> is linear in x and in w: the gradients are the factors, and the three products are one number.
TEST(Conv2d, GradientsAreItsTransposes) {
  for (const ConvCase& c : kConvCases) {
    SCOPED_TRACE(to_text(c.x) + to_text(c.w) + to_text(c.attributes()));
    const Tensor x = random_tensor(DType::f64, c.x, 1), w = random_tensor(DType::f64, c.w, 2);
    const Tensor y = run_op("conv2d", c.attributes(), {x, w})[0];
    const Tensor dy = random_tensor(DType::f64, y.type.shape, 3);
    Attributes for_input = c.attributes(), for_weight = c.attributes();
    for_input.set("height", c.x[1]);
    for_input.set("width", c.x[2]);
    for_weight.set("kernel_height", c.w[0]);
    for_weight.set("kernel_width", c.w[1]);
    for_weight.set("dtype", "f64");
    const Tensor dx = run_op("conv2d_grad_input", for_input, {dy, w})[0];
    const Tensor dw = run_op("conv2d_grad_weight", for_weight, {x, dy})[0];
    EXPECT_NEAR(dot(dx, x), dot(y, dy), 10 * kSumTolerance);
    EXPECT_NEAR(dot(dw, w), dot(y, dy), 10 * kSumTolerance);
  }
}

TEST(Conv2d, CountsTwoOperationsAMultiplication) {
  const OpDef* op = find_op(op_table(), "conv2d");
  const std::vector<Type> in = {{DType::f32, {2, 8, 8, 6}}, {DType::f32, {3, 3, 3, 4}}};
  const Attributes attributes = complete_attributes(*op, {{"padding", 1}, {"groups", 2}});
  const std::vector<Type> out = op->infer({in, {}, &attributes});
  EXPECT_EQ(op->flops({in, out, &attributes}), 2.0 * (2 * 8 * 8 * 4) * (3 * 3 * 3));
}

TEST(Matmul, TransposesEitherSide) {
  const Tensor a = f64({2, 3}, {1, 2, 3, 4, 5, 6}), b = f64({3, 1}, {1, 10, 100});
  const Tensor a_turned = f64({3, 2}, {1, 4, 2, 5, 3, 6}), b_turned = f64({1, 3}, {1, 10, 100});
  const Numbers wanted = {321, 654};
  EXPECT_EQ(run_op("matmul", {}, {a, b})[0].values(), wanted);
  EXPECT_EQ(run_op("matmul", {{"transpose_a", 1}}, {a_turned, b})[0].values(), wanted);
  EXPECT_EQ(run_op("matmul", {{"transpose_b", 1}}, {a, b_turned})[0].values(), wanted);
  EXPECT_EQ(run_op("matmul", {{"transpose_a", 1}, {"transpose_b", 1}}, {a_turned, b_turned})[0].values(), wanted);
  EXPECT_EQ(run_op("linear", {}, {a, b, f64({1}, {-321})})[0].values(), (Numbers{0, 333}));
}

TEST(MaxPool, IndexIsTheTapOfTheFirstMaximum) {
  const Tensor x = f64({1, 2, 4, 1}, {1, 7, 5, 5,  //
                                      7, 2, 5, 5});
  const auto out = run_op("max_pool", {{"kernel", 2}, {"stride", 2}}, {x});
  EXPECT_EQ(out[0].values(), (Numbers{7, 5}));
  EXPECT_EQ(out[1].values(), (Numbers{1, 0}));
}

TEST(MaxPool, PaddingNeverWinsButCountsAsTaps) {
  const Tensor x = f64({1, 2, 2, 1}, {-4, -3, -2, -kInfinity});
  const auto out = run_op("max_pool", {{"kernel", 2}, {"stride", 2}, {"padding", 1}}, {x});
  EXPECT_EQ(out[0].values(), (Numbers{-4, -3, -2, -kInfinity}));
  EXPECT_EQ(out[1].values(), (Numbers{3, 2, 1, 0}));
}

TEST(MaxPool, TheFirstNanWins) {
  const auto out = run_op("max_pool", {{"kernel", 2}, {"stride", 2}}, {f64({1, 2, 2, 1}, {kInfinity, kNan, 3, kNan})});
  EXPECT_TRUE(std::isnan(out[0].at(0)));
  EXPECT_EQ(out[1].at(0), 1);
}

TEST(MaxPool, GradientGoesToTheWinnerAndAddsUpWhereWindowsOverlap) {
  const Tensor x = f64({1, 3, 3, 1}, {0, 1, 2,  //
                                      3, 9, 4,  //
                                      5, 6, 7});
  const auto out = run_op("max_pool", {{"kernel", 2}, {"stride", 1}}, {x});
  EXPECT_EQ(out[1].values(), (Numbers{3, 2, 1, 0}));
  const Attributes back = {{"kernel", 2}, {"stride", 1}, {"height", 3}, {"width", 3}};
  const Tensor dx = run_op("max_pool_grad", back, {f64({1, 2, 2, 1}, {1, 10, 100, 1000}), out[1]})[0];
  EXPECT_EQ(dx.values(), (Numbers{0, 0, 0, 0, 1111, 0, 0, 0, 0}));
}

TEST(MaxPool, AnIndexThatNoWindowHasGoesNowhere) {
  const Tensor index({DType::u8, {1, 1, 1, 1}}, Numbers{255});
  const Attributes back = {{"kernel", 2}, {"stride", 2}, {"height", 2}, {"width", 2}};
  EXPECT_EQ(run_op("max_pool_grad", back, {f64({1, 1, 1, 1}, {1}), index})[0].values(), (Numbers{0, 0, 0, 0}));
}

TEST(AvgPool, PaddingIsCounted) {
  const Tensor x = f64({1, 2, 2, 1}, {4, 8, 12, 16});
  EXPECT_EQ(run_op("avg_pool", {{"kernel", 2}, {"stride", 2}}, {x})[0].values(), (Numbers{10}));
  EXPECT_EQ(run_op("avg_pool", {{"kernel", 2}, {"stride", 2}, {"padding", 1}}, {x})[0].values(), (Numbers{1, 2, 3, 4}));
}

TEST(Pooling, WindowsThatDoNotFitAreRefused) {
  const Tensor x = random_tensor(DType::f32, {1, 4, 4, 1}, 1);
  EXPECT_THROW(run_op("max_pool", {{"kernel", 5}, {"stride", 1}}, {x}), UserError);
  EXPECT_NO_THROW(run_op("max_pool", {{"kernel", 5}, {"stride", 1}, {"padding", 1}}, {x}));
  EXPECT_THROW(run_op("max_pool", {{"kernel", 2}, {"stride", 1}, {"padding", 2}}, {x}), UserError);
  EXPECT_THROW(run_op("max_pool", {{"kernel", 16}, {"stride", 1}, {"padding", 8}}, {x}), UserError);
  EXPECT_THROW(run_op("avg_pool", {{"kernel", 2}, {"stride", 0}}, {x}), UserError);
}

TEST(BatchNorm, NormalizesChannelsOverTheBatch) {
  // Channel 0 is 1, 3, 1, 3; channel 1 is constant.
  const Tensor x = f64({2, 1, 2, 2}, {1, 5, 3, 5, 1, 5, 3, 5});
  const auto out = run_op("batch_norm", {{"eps", 3.0}}, {x, f64({2}, {4, 1}), f64({2}, {10, -1})});
  EXPECT_EQ(out[1].values(), (Numbers{2, 5}));
  EXPECT_EQ(out[2].at(0), 0.5);
  EXPECT_EQ(out[0].values(), (Numbers{8, -1, 12, -1, 8, -1, 12, -1}));
}

TEST(GroupNorm, NormalizesEverySampleAndGroupAlone) {
  // One group of channels 0 and 1 (1 and 3), one of channels 2 and 3; the second sample is ten times the first.
  const Tensor x = f64({2, 4}, {1, 3, 6, 8, 10, 30, 60, 80});
  const Tensor one = f64({4}, {1, 1, 1, 1}), zero = f64({4}, {0, 0, 0, 0});
  const auto out = run_op("group_norm", {{"groups", 2}, {"eps", 3.0}}, {x, one, zero});
  EXPECT_EQ(out[1].values(), (Numbers{2, 7, 20, 70}));
  EXPECT_EQ(out[2].at(1), 0.5);
  EXPECT_EQ(out[0].at(2), -0.5);
  EXPECT_DOUBLE_EQ(out[0].at(7), 10 / std::sqrt(103.0));
}

struct NormKind {
  std::string_view norm, moments, gradient;
  Attributes attributes;  // of all three, but for eps and activation
};

const std::vector<NormKind> kNorms = {{"batch_norm", "batch_moments", "batch_norm_grad", {}},
                                      {"group_norm", "group_moments", "group_norm_grad", {{"groups", 3}}}};

Attributes with(Attributes attributes, std::string_view name, const char* word) {
  attributes.set(name, std::string(word));
  return attributes;
}

TEST(Norms, MomentsAndNormalizeGiveTheBitsOfTheWholeNorm) {
  for (const NormKind& kind : kNorms) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor x = random_tensor(dtype, {2, 3, 3, 6}, 1);
      const Tensor gamma = random_tensor(DType::f32, {6}, 2), beta = random_tensor(DType::f32, {6}, 3);
      const auto whole = run_op(kind.norm, with(kind.attributes, "activation", "relu"), {x, gamma, beta});
      const auto moments = run_op(kind.moments, kind.attributes, {x});
      const Tensor y =
          run_op("normalize", with(kind.attributes, "activation", "relu"), {x, moments[0], moments[1], gamma, beta})[0];
      EXPECT_TRUE(same_bits(whole[1], moments[0]) && same_bits(whole[2], moments[1])) << kind.norm;
      EXPECT_TRUE(same_bits(whole[0], y)) << kind.norm;
    }
  }
}

// Backward does not read y: the mask that it derives from x must be the one that y shows, also after rounding to bf16.
TEST(Norms, TheMaskDerivedFromXIsThatOfTheOutput) {
  for (const NormKind& kind : kNorms) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor x = random_tensor(dtype, {4, 5, 5, 6}, 1), dy = random_tensor(dtype, {4, 5, 5, 6}, 2);
      const Tensor gamma = random_tensor(DType::f32, {6}, 3), beta = random_tensor(DType::f32, {6}, 4);
      const auto out = run_op(kind.norm, with(kind.attributes, "activation", "relu"), {x, gamma, beta});
      const Tensor masked = run_op("relu_grad", {}, {out[0], dy})[0];
      const auto fused =
          run_op(kind.gradient, with(kind.attributes, "activation", "relu"), {x, out[1], out[2], gamma, beta, dy});
      const auto plain = run_op(kind.gradient, kind.attributes, {x, out[1], out[2], gamma, beta, masked});
      for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(same_bits(fused[k], plain[k])) << kind.norm << " output " << k;
    }
  }
}

TEST(Norms, VectorsBesideBfloat16StayF32) {
  const Tensor x = random_tensor(DType::bf16, {2, 4}, 1), gamma = random_tensor(DType::f32, {4}, 2);
  EXPECT_EQ(run_op("batch_norm", {}, {x, gamma, gamma})[1].type.dtype, DType::f32);
  const Tensor narrow = random_tensor(DType::bf16, {4}, 2);
  EXPECT_THROW(run_op("batch_norm", {}, {x, narrow, narrow}), UserError);
}

TEST(UpdateRunning, TakesTheUnbiasedVariance) {
  const Tensor x = f64({3, 1}, {1, 2, 6});  // mean 3, biased variance 14/3, unbiased 7
  const auto moments = run_op("batch_moments", {}, {x});
  const Attributes attributes = {{"momentum", 0.25}, {"count", 3}};
  const auto out = run_op("update_running", attributes, {f64({1}, {1}), f64({1}, {3}), moments[0], moments[1]});
  EXPECT_DOUBLE_EQ(out[0].at(0), 0.75 * 1 + 0.25 * 3);
  EXPECT_NEAR(out[1].at(0), 0.75 * 3 + 0.25 * 7, 1e-12);
}

TEST(UpdateRunning, NeverMakesANegativeVariance) {
  const Tensor x({DType::f32, {2, 1}}, Numbers{5, 5}), zero({DType::f32, {1}}, Numbers{0});
  for (const double eps : {1e-5, 1e-3, 1e-2, 0.3}) {
    const auto moments = run_op("batch_moments", {{"eps", eps}}, {x});
    const Attributes attributes = {{"momentum", 1.0}, {"eps", eps}, {"count", 2}};
    const double variance = run_op("update_running", attributes, {zero, zero, moments[0], moments[1]})[1].at(0);
    EXPECT_GE(variance, 0);
    EXPECT_LE(variance, 1e-6 * eps);
  }
}

TEST(SignBits, PacksEightElementsABitEach) {
  const Tensor x = f64({10}, {1, -1, 0, 2, -0.0, kNan, 5e-324, -kInfinity, -3, kInfinity});
  const Tensor bits = run_op("sign_bits", {}, {x})[0];
  EXPECT_EQ(bits.values(), (Numbers{0b01001001, 0b00000010}));
  const Tensor dy = f64({10}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  EXPECT_EQ(run_op("relu_grad_bits", {}, {bits, dy})[0].values(), (Numbers{1, 0, 0, 4, 0, 0, 7, 0, 0, 10}));
}

Tensor ones(const Shape& shape) {
  Tensor tensor({DType::f32, shape});
  for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.set(i, 1);
  return tensor;
}

const Attributes kDropout = {{"p", 0.25}, {"key", 3}};

TEST(Dropout, MicrobatchesDrawWhatTheWholeBatchDraws) {
  const Numbers whole = run_op("dropout", kDropout, {ones({6, 5, 7})}, {.seed = 9, .iteration = 4})[0].values();
  for (const std::int64_t microbatch : {1, 2, 3}) {
    Numbers pieces;
    for (std::int64_t first = 0; first < 6; first += microbatch) {
      const RunScalars scalars = {.seed = 9, .iteration = 4, .sample_offset = first};
      const Numbers piece = run_op("dropout", kDropout, {ones({microbatch, 5, 7})}, scalars)[0].values();
      pieces.insert(pieces.end(), piece.begin(), piece.end());
    }
    EXPECT_EQ(pieces, whole) << "microbatches of " << microbatch;
  }
}

TEST(Dropout, SeedIterationAndKeyEachChangeTheMask) {
  const auto mask = [](const RunScalars& scalars, std::int64_t key) {
    return run_op("dropout", {{"p", 0.5}, {"key", key}}, {ones({4, 64})}, scalars)[0].values();
  };
  const Numbers first = mask({.seed = 1, .iteration = 0}, 0);
  EXPECT_EQ(mask({.seed = 1, .iteration = 0}, 0), first);
  EXPECT_NE(mask({.seed = 2, .iteration = 0}, 0), first);
  EXPECT_NE(mask({.seed = 1, .iteration = 1}, 0), first);
  EXPECT_NE(mask({.seed = 1, .iteration = 0}, 1), first);
}

TEST(Dropout, KeepsTheMeanAndDropsTheStatedShare) {
  const Numbers y = run_op("dropout", kDropout, {ones({100, 100})})[0].values();
  const auto dropped = static_cast<double>(std::count(y.begin(), y.end(), 0.0));
  // 10,000 draws with p = 0.25: six standard deviations are 260.
  EXPECT_NEAR(dropped, 2500, 260);
  for (const double value : y) EXPECT_TRUE(value == 0 || value == static_cast<double>(4.0F / 3.0F));
  EXPECT_THROW(run_op("dropout", {{"p", 1.0}, {"key", 0}}, {ones({1})}), UserError);
}

}  // namespace
}  // namespace thimble::testing
