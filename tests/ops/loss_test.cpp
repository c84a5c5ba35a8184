// Softmax and cross-entropy against values worked by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "support/interpreter.h"

namespace thimble::testing {
namespace {

constexpr double kLog3 = 1.0986122886681098;

Tensor logits(std::int64_t samples, const std::vector<double>& values) {
  return {{DType::f64, {samples, static_cast<std::int64_t>(values.size()) / samples}}, values};
}
Tensor labels(const std::vector<double>& values) {
  return {{DType::i32, {static_cast<std::int64_t>(values.size())}}, values};
}

struct Loss {
  double loss = 0, hits = 0;
  std::vector<double> gradient;
};

Loss loss_of(const Tensor& x, const Tensor& y, const Attributes& attributes = {}, float inverse_batch = 1) {
  const RunScalars scalars{.inverse_batch = inverse_batch};
  const auto out = run_op("softmax_cross_entropy", attributes, {x, y}, scalars);
  return {out[0].at(0), out[1].at(0), run_op("softmax_cross_entropy_grad", attributes, {x, y}, scalars)[0].values()};
}

TEST(CrossEntropy, IsMinusTheLogOfTheLabelsProbability) {
  // softmax(0, log 3) = (1/4, 3/4)
  const Loss found = loss_of(logits(1, {0, kLog3}), labels({1}));
  EXPECT_NEAR(found.loss, -std::log(0.75), 1e-15);
  EXPECT_EQ(found.hits, 1);
  EXPECT_NEAR(found.gradient[0], 0.25, 1e-15);
  EXPECT_NEAR(found.gradient[1], -0.25, 1e-15);
}

TEST(CrossEntropy, SmoothingSpreadsTheTargetOverAllClasses) {
  // smoothing 0.2 of two classes: target (0.1, 0.9)
  const Loss found = loss_of(logits(1, {0, kLog3}), labels({1}), {{"smoothing", 0.2}});
  EXPECT_NEAR(found.loss, -(0.1 * std::log(0.25) + 0.9 * std::log(0.75)), 1e-15);
  EXPECT_NEAR(found.gradient[0], 0.15, 1e-15);
  EXPECT_NEAR(found.gradient[1], -0.15, 1e-15);
}

TEST(CrossEntropy, IsAMeanOverTheBatchEvenInPieces) {
  const Loss whole = loss_of(logits(2, {0, kLog3, kLog3, 0}), labels({1, 1}), {}, 0.5F);
  EXPECT_NEAR(whole.loss, (-std::log(0.75) - std::log(0.25)) / 2, 1e-15);
  EXPECT_EQ(whole.hits, 1);
  const Loss first = loss_of(logits(1, {0, kLog3}), labels({1}), {}, 0.5F),
             second = loss_of(logits(1, {kLog3, 0}), labels({1}), {}, 0.5F);
  EXPECT_NEAR(first.loss + second.loss, whole.loss, 1e-15);
  EXPECT_EQ(first.gradient[1], whole.gradient[1]);
  EXPECT_EQ(second.gradient[0], whole.gradient[2]);
}

TEST(CrossEntropy, OfTwoMaximaTheFirstIsTheAnswer) {
  EXPECT_EQ(loss_of(logits(1, {1, 2, 2}), labels({1})).hits, 1);
  EXPECT_EQ(loss_of(logits(1, {1, 2, 2}), labels({2})).hits, 0);
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  const Loss found = loss_of(logits(2, {1000, 0, -1000, 0}), labels({1, 1}));
  EXPECT_NEAR(found.loss, 1000, 1e-12);
  EXPECT_NEAR(found.gradient[0], 1, 1e-15);
  EXPECT_NEAR(found.gradient[2], 0, 1e-15);
}

TEST(CrossEntropy, ALabelOutOfRangeGivesNan) {
  for (const double label : {-1.0, 2.0, 2147483647.0, -2147483648.0}) {
    const Loss found = loss_of(logits(2, {0, kLog3, 1, 0}), labels({label, 0}));
    EXPECT_TRUE(std::isnan(found.loss)) << label;
    EXPECT_EQ(found.hits, 1) << "the other sample still counts";
    EXPECT_TRUE(std::isnan(found.gradient[0]) && std::isnan(found.gradient[1])) << label;
    EXPECT_TRUE(std::isfinite(found.gradient[2]) && std::isfinite(found.gradient[3])) << label;
  }
}

TEST(CrossEntropy, NanAmongTheLogitsIsSeenAndNeverAHit) {
  for (const auto& row : {std::vector<double>{std::nan(""), 0}, {0, std::nan("")}}) {
    const Loss found = loss_of(logits(1, row), labels({0}));
    EXPECT_TRUE(std::isnan(found.loss));
    EXPECT_EQ(found.hits, 0);
    EXPECT_TRUE(std::isnan(found.gradient[0]));
  }
}

TEST(CrossEntropy, ReportsInF32ForNarrowLogits) {
  const Tensor narrow({DType::bf16, {1, 2}}, std::vector<double>{0, 1});
  const auto out = run_op("softmax_cross_entropy", {}, {narrow, labels({1})});
  EXPECT_EQ(to_text(out[0].type), "f32[1]");
  EXPECT_EQ(to_text(out[1].type), "f32[1]");
  EXPECT_EQ(to_text(run_op("softmax_cross_entropy_grad", {}, {narrow, labels({1})})[0].type), "bf16[1,2]");
}

TEST(CrossEntropy, RefusesWhatItCannotJudge) {
  const auto refuses = [](const Tensor& x, const Tensor& y, const Attributes& attributes) {
    EXPECT_THROW(run_op("softmax_cross_entropy", attributes, {x, y}), UserError);
    EXPECT_THROW(run_op("softmax_cross_entropy_grad", attributes, {x, y}), UserError);
  };
  const Tensor x = logits(2, {0, 1, 2, 3});
  refuses(x, labels({0, 1, 0}), {});
  refuses(x, logits(2, {0, 1}), {});
  refuses(x, labels({0, 1}), {{"smoothing", 1.0}});
  refuses(x, labels({0, 1}), {{"smoothing", -0.1}});
  refuses(x, labels({0, 1}), {{"smoothing", std::nan("")}});
  refuses(Tensor({DType::f64, {4}}), labels({0, 1, 0, 1}), {});
  refuses(Tensor({DType::f64, {2, 0}}), labels({0, 1}), {});
  refuses(labels({0, 1}), labels({0, 1}), {});
}

}  // namespace
}  // namespace thimble::testing
