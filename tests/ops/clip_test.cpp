// The norm of gradients and what becomes of them, against values worked by hand and against the same thing said
// otherwise.
#include <gtest/gtest.h>

#include <cmath>

#include "support/op_cases.h"

namespace thimble::testing {
namespace {

constexpr RunScalars kScalars{.iteration = 2, .learning_rate = 0.5F};

Tensor f32(const std::vector<double>& values) {
  return {{DType::f32, {static_cast<std::int64_t>(values.size())}}, values};
}

std::vector<Tensor> clip(double limit, const std::vector<double>& norms) {
  std::vector<Tensor> in;
  for (const double norm : norms) in.push_back(f32({norm}));
  return run_op("clip_scale", {{"limit", limit}, {"count", static_cast<std::int64_t>(norms.size())}}, in, {});
}

TEST(ClipScale, IsTheLimitOverTheCommonLength) {
  const auto out = clip(6.5, {3, 4, 12});
  EXPECT_EQ(out[1].at(0), 13);
  EXPECT_FLOAT_EQ(static_cast<float>(out[0].at(0)), static_cast<float>(6.5 / (13 + 1e-6)));
}

TEST(ClipScale, IsExactlyOneBelowTheLimit) {
  EXPECT_EQ(clip(13.1, {3, 4, 12})[0].at(0), 1);
  EXPECT_EQ(clip(1, {0, 0})[0].at(0), 1);
  EXPECT_EQ(clip(1e-6, {0})[0].at(0), 1);
}

// As PyTorch: an infinite gradient stops the finite ones, a NaN spoils all, and neither looks healthy.
TEST(ClipScale, PassesOnWhatIsNotFinite) {
  EXPECT_EQ(clip(1, {3, HUGE_VAL})[0].at(0), 0);
  EXPECT_EQ(clip(1, {3, HUGE_VAL})[1].at(0), HUGE_VAL);
  EXPECT_TRUE(std::isnan(clip(1, {3, std::nan("")})[0].at(0)));
  EXPECT_TRUE(std::isnan(clip(1, {3, std::nan("")})[1].at(0)));
}

TEST(ClipScale, RefusesLimitsAndCountsThatMakeNoSense) {
  for (const double limit : {0.0, -1.0, HUGE_VAL, std::nan("")}) EXPECT_THROW(clip(limit, {1}), UserError);
  EXPECT_THROW(run_op("clip_scale", {{"limit", 1.0}, {"count", std::int64_t{2}}}, {f32({1})}, {}), UserError);
  EXPECT_THROW(run_op("clip_scale", {{"limit", 1.0}, {"count", std::int64_t{1}}}, {f32({1, 2})}, {}), UserError);
}

TEST(EuclideanNorm, NeitherOverflowsNorUnderflows) {
  EXPECT_EQ(run_op("euclidean_norm", {}, {f32({3, -4})}, {})[0].at(0), 5);
  EXPECT_FLOAT_EQ(static_cast<float>(run_op("euclidean_norm", {}, {f32({3e30, 4e30})}, {})[0].at(0)), 5e30F);
  EXPECT_FLOAT_EQ(static_cast<float>(run_op("euclidean_norm", {}, {f32({3e-30, 4e-30})}, {})[0].at(0)), 5e-30F);
}

TEST(SparseNorm, CountsThePositionsThatExist) {
  const Tensor mask({DType::u8, {1}}, {0b0010'0101}), table({DType::i32, {3}}, {0, 2, 5});  // elements 0, 2 and 5
  const Attributes slot = {{"slot", std::int64_t{1}}};
  const Tensor dense = f32({3, 100, 4, 100, 100, 12, 100, 100});
  EXPECT_EQ(run_op("sparse_norm", slot, {dense, mask, table}, {})[0].at(0), 13);
  const Tensor pool({DType::f32, {6}, Layout::pooled}, {100, 100, 3, 4, 12, 100});
  EXPECT_EQ(run_op("sparse_norm", slot, {pool, mask, table}, {})[0].at(0), 13);
}

TEST(SparseNorm, StaysInsideThePoolWhateverTheTableSays) {
  const Tensor mask({DType::u8, {1}}, {255}), table({DType::i32, {3}}, {-5, 4, 1000});
  const Tensor pool({DType::f32, {6}, Layout::pooled}, {9, 9, 9, 9, 3, 4});
  EXPECT_EQ(run_op("sparse_norm", {{"slot", std::int64_t{1}}}, {pool, mask, table}, {})[0].at(0), 5);
}

struct ScaledRule {
  std::string op;
  std::size_t tensors;
};

// A scaled gradient is the gradient times the scale: powers of two leave no rounding between the two.
TEST(ScaledUpdates, TakeTheGradientTimesTheScale) {
  for (const ScaledRule& rule : {ScaledRule{"sgd_update", 1},
                                 {"momentum_update", 2},
                                 {"nesterov_update", 2},
                                 {"adamw_update", 3},
                                 {"momentum_open", 2},
                                 {"momentum_close", 2}}) {
    Attributes attributes;
    if (has_attribute(*find_op(op_table(), rule.op), "momentum")) attributes.set("momentum", 0.75);
    std::vector<Tensor> in;
    for (std::size_t k = 0; k < rule.tensors; ++k) {
      in.push_back(random_tensor({DType::f32, {20}}, random_key(1, RandomPurpose::test, k), Signs::positive));
    }
    Tensor gradient = random_tensor({DType::f32, {20}}, random_key(2, RandomPurpose::test, 0), Signs::mixed);
    std::vector<Tensor> scaled = in, plain = in;
    scaled.insert(scaled.end(), {gradient, f32({0.25})});
    for (std::int64_t i = 0; i < gradient.count(); ++i) gradient.set(i, 0.25 * gradient.at(i));
    plain.push_back(gradient);
    const auto got = run_op(rule.op, attributes, scaled, kScalars), want = run_op(rule.op, attributes, plain, kScalars);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(same_bits(got[k], want[k])) << rule.op << " " << k;
  }
}

}  // namespace
}  // namespace thimble::testing
