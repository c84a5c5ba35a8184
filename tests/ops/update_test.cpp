// Parameter updates against values worked by hand, and what the generic tests cannot know: rounding, mixed dtypes,
// refusals.
#include <gtest/gtest.h>

#include "support/op_cases.h"

namespace thimble::testing {
namespace {

Tensor f64(const std::vector<double>& values) {
  return {{DType::f64, {static_cast<std::int64_t>(values.size())}}, values};
}
Tensor of(DType dtype, const std::vector<double>& values) {
  return {{dtype, {static_cast<std::int64_t>(values.size())}}, values};
}
Tensor random(DType dtype, std::int64_t count, std::uint32_t key) {
  return random_tensor({dtype, {count}}, {key, 1}, Signs::mixed);
}

constexpr RunScalars kHalfRate{.learning_rate = 0.5F};

TEST(SgdUpdate, StepsAgainstGradientAndDecay) {
  // p' = 1 - 0.5 * (2 + 0.25 * 1)
  EXPECT_EQ(run_op("sgd_update", {{"weight_decay", 0.25}}, {f64({1}), f64({2})}, kHalfRate)[0].at(0), -0.125);
  EXPECT_EQ(run_op("sgd_update", {}, {f64({1}), f64({2})}, kHalfRate)[0].at(0), 0.0);
}

TEST(MomentumUpdate, VelocityGathersGradientAndDecay) {
  // v' = 0.5 * 4 + 2 + 0.25 = 4.25;  p' = 1 - 0.5 * 4.25
  const auto out =
      run_op("momentum_update", {{"momentum", 0.5}, {"weight_decay", 0.25}}, {f64({1}), f64({4}), f64({2})}, kHalfRate);
  EXPECT_EQ(out[1].at(0), 4.25);
  EXPECT_EQ(out[0].at(0), -1.125);
}

TEST(NesterovUpdate, LooksAheadAlongTheNewVelocity) {
  // d = 2.25;  v' = 0.5 * 4 + 2.25 = 4.25;  p' = 1 - 0.5 * (2.25 + 0.5 * 4.25)
  const auto out =
      run_op("nesterov_update", {{"momentum", 0.5}, {"weight_decay", 0.25}}, {f64({1}), f64({4}), f64({2})}, kHalfRate);
  EXPECT_EQ(out[1].at(0), 4.25);
  EXPECT_EQ(out[0].at(0), -1.1875);
}

TEST(NesterovUpdate, WithoutMomentumIsPlainDescent) {
  const std::vector<Tensor> in = {random(DType::f64, 20, 1), f64(std::vector<double>(20, 0.0)),
                                  random(DType::f64, 20, 2)};
  const auto out = run_op("nesterov_update", {{"momentum", 0.0}, {"weight_decay", 0.125}}, in, kHalfRate);
  EXPECT_TRUE(same_bits(out[0], run_op("sgd_update", {{"weight_decay", 0.125}}, {in[0], in[2]}, kHalfRate)[0]));
}

// PyTorch's AdamW: p *= 1 - lr * wd; m and v are running means of g and g^2; p -= lr * (m / c1) / (sqrt(v) / sqrt(c2) +
// eps).
TEST(AdamwUpdate, FirstIterationCorrectsTheBiasOfEmptyMoments) {
  const Attributes attributes = {{"beta1", 0.5}, {"beta2", 0.75}, {"eps", 0.25}, {"weight_decay", 0.5}};
  const RunScalars scalars{.iteration = 0, .learning_rate = 0.125F};
  const auto out = run_op("adamw_update", attributes, {f64({1}), f64({0}), f64({0}), f64({2})}, scalars);
  EXPECT_EQ(out[1].at(0), 1.0);  // 0.5 * 2
  EXPECT_EQ(out[2].at(0), 1.0);  // 0.25 * 4
  // c1 = 0.5, c2 = 0.25: m / c1 = 2, sqrt(v / c2) = 2
  EXPECT_DOUBLE_EQ(out[0].at(0), 0.9375 - 0.125 * 2 / 2.25);
}

TEST(AdamwUpdate, SecondIterationCorrectsLess) {
  const Attributes attributes = {{"beta1", 0.5}, {"beta2", 0.75}, {"eps", 0.25}, {"weight_decay", 0.5}};
  const RunScalars scalars{.iteration = 1, .learning_rate = 0.125F};
  const auto out = run_op("adamw_update", attributes, {f64({1}), f64({0.25}), f64({0.5}), f64({2})}, scalars);
  EXPECT_EQ(out[1].at(0), 1.125);  // 0.125 + 1
  EXPECT_EQ(out[2].at(0), 1.375);  // 0.375 + 1
  // c1 = 0.75, c2 = 0.4375: 0.9375 - 0.125 * 1.5 / (1.77281052 + 0.25)
  EXPECT_NEAR(out[0].at(0), 0.844807185687036, 1e-14);
}

TEST(AdamwUpdate, DefaultsAreThoseOfPyTorch) {
  const OpDef* op = find_op(op_table(), "adamw_update");
  const Attributes attributes = complete_attributes(*op, {});
  EXPECT_EQ(attributes.number("beta1"), 0.9);
  EXPECT_EQ(attributes.number("beta2"), 0.999);
  EXPECT_EQ(attributes.number("eps"), 1e-8);
  EXPECT_EQ(attributes.number("weight_decay"), 0.01);
}

// Heavy-ball momentum over microbatches: open, accumulate into the velocity, close.
TEST(HeavyBall, MicrobatchesEqualOneUpdateWithTheSummedGradient) {
  constexpr std::int64_t kCount = 37;
  const Attributes rule = {{"momentum", 0.875}, {"weight_decay", 0.125}};
  for (const int microbatches : {2, 3, 5}) {
    const Tensor p = random(DType::f64, kCount, 1), v = random(DType::f64, kCount, 2);
    Tensor sum = f64(std::vector<double>(kCount, 0.0)), gathered = v, moved = p;
    for (int m = 0; m < microbatches; ++m) {
      const Tensor g = random(DType::f64, kCount, 10 + static_cast<std::uint32_t>(m));
      sum = run_op("accumulate", {}, {sum, g})[0];
      if (m == 0) {
        gathered = run_op("momentum_open", rule, {gathered, p, g}, kHalfRate)[0];
      } else if (m + 1 < microbatches) {
        gathered = run_op("accumulate", {}, {gathered, g}, kHalfRate)[0];
      } else {
        const auto closed = run_op("momentum_close", {}, {p, gathered, g}, kHalfRate);
        moved = closed[0];
        gathered = closed[1];
      }
    }
    const auto expected = run_op("momentum_update", rule, {p, v, sum}, kHalfRate);
    for (std::int64_t i = 0; i < kCount; ++i) {
      EXPECT_NEAR(moved.at(i), expected[0].at(i), 1e-13) << microbatches << " microbatches";
      EXPECT_NEAR(gathered.at(i), expected[1].at(i), 1e-13) << microbatches << " microbatches";
    }
  }
}

TEST(Updates, TakeADtypeForEachTensor) {
  const auto out = run_op("momentum_update", {{"momentum", 0.5}},
                          {of(DType::f32, {1}), of(DType::bf16, {0}), of(DType::bf16, {1.0078125})}, kHalfRate);
  EXPECT_EQ(out[0].type.dtype, DType::f32);
  EXPECT_EQ(out[1].type.dtype, DType::bf16);
  EXPECT_EQ(out[1].at(0), 1.0078125);
  EXPECT_EQ(out[0].at(0), 1 - 0.5 * 1.0078125);
}

TEST(Updates, ParameterMovesByTheVelocityBeforeItIsRounded) {
  // v' = 1 + 2^-9 lies halfway between two bf16 numbers and is stored as 1; p' still sees all of it.
  const auto out = run_op("momentum_update", {{"momentum", 0.0}},
                          {of(DType::f32, {0}), of(DType::bf16, {0}), of(DType::f32, {1 + 0x1p-9})}, kHalfRate);
  EXPECT_EQ(out[1].at(0), 1.0);
  EXPECT_EQ(out[0].at(0), -0.5 * (1 + 0x1p-9));
}

TEST(Accumulate, KeepsTheDtypeOfTheTotal) {
  const Tensor total = run_op("accumulate", {}, {of(DType::f32, {1}), of(DType::bf16, {0x1p-10})})[0];
  EXPECT_EQ(total.type.dtype, DType::f32);
  EXPECT_EQ(total.at(0), 1 + 0x1p-10);
}

// Stochastic rounding.

const Attributes kStochastic = {{"rounding", std::string("stochastic")}, {"key", std::int64_t{5}}};
constexpr double kStep = 0x1p-7;  // between 1 and the next bf16 number

TEST(StochasticRounding, DrawsTheBitsOfSeedKeyElementOutputAndIteration) {
  constexpr std::int64_t kCount = 200;
  const RunScalars scalars{.seed = 9, .iteration = 4, .learning_rate = 0.5F};
  Attributes attributes = kStochastic;
  attributes.set("momentum", 0.75);
  const std::vector<Tensor> in = {random(DType::bf16, kCount, 1), random(DType::bf16, kCount, 2),
                                  random(DType::f32, kCount, 3)};
  const auto out = run_op("momentum_update", attributes, in, scalars);
  const RandomKey key = random_key(9, RandomPurpose::rounding, 5);
  for (std::int64_t i = 0; i < kCount; ++i) {
    const double velocity = 0.75 * in[1].at(i) + in[2].at(i), parameter = in[0].at(i) - 0.5 * velocity;
    const auto element = static_cast<std::uint64_t>(i);
    const auto rounded = [&](double value, std::uint64_t output) {
      const std::uint32_t bits = random_bits(key, element * 4 + output, 4)[0];
      return static_cast<double>(to_float(to_bfloat16_stochastic(static_cast<float>(value), bits & 0xffffU)));
    };
    EXPECT_EQ(out[0].at(i), rounded(parameter, 0));
    EXPECT_EQ(out[1].at(i), rounded(velocity, 1));
  }
}

TEST(StochasticRounding, IsUnbiased) {
  // Each element goes up by a quarter of a step: a quarter of them must arrive at the next number, the rest stay.
  constexpr std::int64_t kCount = 40000;
  const Tensor ones(Type{DType::bf16, {kCount}}, std::vector<double>(kCount, 1.0));
  const Tensor quarter(Type{DType::f32, {kCount}}, std::vector<double>(kCount, kStep / 4));
  double ups = 0;
  for (const double value : run_op("accumulate", kStochastic, {ones, quarter}, {})[0].values()) {
    ASSERT_TRUE(value == 1 || value == 1 + kStep) << value;
    ups += value > 1 ? 1 : 0;
  }
  const double deviation = std::sqrt(kCount * 0.25 * 0.75);
  EXPECT_NEAR(ups, kCount * 0.25, 5 * deviation);
}

TEST(StochasticRounding, KeepsSmallStepsThatNearestRoundingLoses) {
  constexpr std::int64_t kCount = 500, kIterations = 64;
  const Tensor ones(Type{DType::bf16, {kCount}}, std::vector<double>(kCount, 1.0));
  const Tensor gradient(Type{DType::f32, {kCount}}, std::vector<double>(kCount, -kStep / 8));
  Tensor nearest = ones, stochastic = ones;
  for (std::int64_t iteration = 0; iteration < kIterations; ++iteration) {
    const RunScalars scalars{.iteration = iteration, .learning_rate = 1};
    nearest = run_op("sgd_update", {}, {nearest, gradient}, scalars)[0];
    stochastic = run_op("sgd_update", kStochastic, {stochastic, gradient}, scalars)[0];
  }
  EXPECT_TRUE(same_bits(nearest, ones));
  double mean = 0;
  for (const double value : stochastic.values()) mean += value / kCount;
  // 64 steps of 1/8 each are 8; one element deviates by sqrt(64 * 7/64) steps.
  EXPECT_NEAR((mean - 1) / kStep, 8, 5 * std::sqrt(7.0 / kCount));
}

TEST(StochasticRounding, IsReproducibleAndDependsOnSeedKeyIterationAndMicrobatch) {
  const std::vector<Tensor> in = {random(DType::bf16, 300, 1), random(DType::f32, 300, 2)};
  const auto run = [&](std::uint64_t seed, std::int64_t key, std::int64_t iteration, std::int64_t offset = 0) {
    const Attributes attributes = {{"rounding", std::string("stochastic")}, {"key", key}};
    const RunScalars scalars = {.seed = seed, .iteration = iteration, .sample_offset = offset, .learning_rate = 0.1F};
    return run_op("sgd_update", attributes, in, scalars)[0];
  };
  const Tensor first = run(1, 2, 3);
  EXPECT_TRUE(same_bits(first, run(1, 2, 3)));
  EXPECT_FALSE(same_bits(first, run(2, 2, 3)));
  EXPECT_FALSE(same_bits(first, run(1, 3, 3)));
  EXPECT_FALSE(same_bits(first, run(1, 2, 4)));
  EXPECT_FALSE(same_bits(first, run(1, 2, 3, 10)));
}

TEST(StochasticRounding, LeavesF32Alone) {
  const std::vector<Tensor> in = {random(DType::f32, 50, 1), random(DType::bf16, 50, 2)};
  EXPECT_TRUE(
      same_bits(run_op("sgd_update", kStochastic, in, kHalfRate)[0], run_op("sgd_update", {}, in, kHalfRate)[0]));
}

// Refusals name what was found and what was wanted.

TEST(Updates, RefuseNumbersThatMakeNoSense) {
  const std::vector<Tensor> two(2, f64({1})), three(3, f64({1})), four(4, f64({1}));
  EXPECT_EQ(refusal("sgd_update", {{"rounding", std::string("up")}}, two),
            "sgd_update: attribute 'rounding' is 'up', wanted nearest or stochastic");
  EXPECT_EQ(refusal("sgd_update", {{"weight_decay", -0.5}}, two),
            "sgd_update: attribute 'weight_decay' is -0.5, wanted a number from 0");
  EXPECT_EQ(refusal("momentum_update", {{"momentum", 1.0}}, three),
            "momentum_update: attribute 'momentum' is 1, wanted at least 0 and less than 1");
  EXPECT_EQ(refusal("momentum_update", {}, three), "momentum_update: attribute 'momentum' must be given");
  EXPECT_EQ(refusal("nesterov_update", {{"momentum", std::nan("")}}, three),
            "nesterov_update: attribute 'momentum' is nan, wanted at least 0 and less than 1");
  EXPECT_EQ(refusal("adamw_update", {{"beta2", 1.5}}, four),
            "adamw_update: attribute 'beta2' is 1.5, wanted at least 0 and less than 1");
  EXPECT_EQ(refusal("adamw_update", {{"eps", 0.0}}, four),
            "adamw_update: attribute 'eps' is 0, wanted a positive number");
}

TEST(Updates, RefuseInputsThatDoNotFit) {
  EXPECT_EQ(refusal("sgd_update", {}, {f64({1})}), "sgd_update: found 1 inputs, wanted 2 to 3");
  EXPECT_EQ(refusal("sgd_update", {}, {f64({1}), f64({1, 2})}), "sgd_update: input 1 is f64[2], wanted shape [1]");
  EXPECT_EQ(refusal("sgd_update", {}, {of(DType::i32, {1}), f64({1})}),
            "sgd_update: input 0 is i32[1], wanted a dense floating type");
  const Tensor pool(Type{DType::f32, {1}, Layout::pooled});
  EXPECT_EQ(refusal("sgd_update", {}, {pool, f64({1})}),
            "sgd_update: input 0 is f32[1]pooled, wanted a dense floating type");
}

}  // namespace
}  // namespace thimble::testing
