// A diverging run must not look healthy: NaN reaches the outputs. And masks agree with the reference exactly, not
// nearly.
#include "kernels/support/kernel_lookup.h"

namespace thimble::testing {
namespace {

class SpecialValues : public ::testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(All, SpecialValues, ::testing::ValuesIn(runnable_isas()),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

TEST_P(SpecialValues, TheFirstNaNWinsAPoolAndTheFirstOfEqualsWithoutOne) {
  const double nan = std::nan("");
  // (1, 2, 2, 3): taps 0 to 3 of three channels
  const Tensor x({DType::f32, {1, 2, 2, 3}}, {1, 5, -2, nan, 5, -1, 7, 5, -1, nan, 5, -3});
  const auto got =
      run_by_kernel("max_pool", GetParam(), {{"kernel", std::int64_t{2}}, {"stride", std::int64_t{2}}}, {x}, 1);
  EXPECT_TRUE(std::isnan(got[0].at(0)));
  EXPECT_EQ(got[0].at(1), 5);
  EXPECT_EQ(got[0].at(2), -1);
  EXPECT_EQ(got[1].values(), (std::vector<double>{1, 0, 1}));
}

TEST_P(SpecialValues, AWrongLabelGivesNaNLossAndNaNGradientOfItsRow) {
  const Tensor logits = normal_tensor({DType::f32, {3, 5}}, 1);
  for (const double wrong : {-1.0, 5.0}) {
    const Tensor labels({DType::i32, {3}}, {0, wrong, 2});
    EXPECT_TRUE(std::isnan(run_by_kernel("softmax_cross_entropy", GetParam(), {}, {logits, labels}, 1)[0].at(0)));
    const auto gradient = run_by_kernel("softmax_cross_entropy_grad", GetParam(), {}, {logits, labels}, 1);
    for (std::int64_t i = 0; i < 15; ++i) EXPECT_EQ(std::isnan(gradient[0].at(i)), i / 5 == 1) << "element " << i;
  }
}

TEST_P(SpecialValues, ANaNReachesTheStatisticsOfItsChannelOnly) {
  Tensor x = normal_tensor({DType::f32, {9, 4, 4, 10}}, 1);
  x.set(537, std::nan(""));
  const auto moments = run_by_kernel("batch_moments", GetParam(), {}, {x}, 1);
  for (std::int64_t c = 0; c < 10; ++c) {
    EXPECT_EQ(std::isnan(moments[0].at(c)), c == 7) << "channel " << c;
    EXPECT_EQ(std::isnan(moments[1].at(c)), c == 7) << "channel " << c;
  }
}

TEST_P(SpecialValues, ANaNReachesTheMomentsOfItsChannelOnlyWhereAConvolutionGathersThem) {
  Tensor x = normal_tensor({DType::f32, {9, 4, 4, 10}}, 1);
  x.set(537, std::nan(""));
  const Tensor w = normal_tensor({DType::f32, {3, 3, 1, 10}}, 2);
  const Attributes attributes = {{"padding", std::int64_t{1}}, {"groups", std::int64_t{10}}, {"moments_eps", 1e-5}};
  const auto made = run_by_kernel("conv2d", GetParam(), attributes, {x, w}, 2);
  for (std::int64_t c = 0; c < 10; ++c) {
    EXPECT_EQ(std::isnan(made[1].at(c)), c == 7) << "channel " << c;
    EXPECT_EQ(std::isnan(made[2].at(c)), c == 7) << "channel " << c;
  }
}

TEST_P(SpecialValues, DropoutKeepsTheElementsOfTheReferenceInEveryMicrobatch) {
  const Tensor x({DType::f32, {6, 37}}, std::vector<double>(6 * 37, 1.0));
  for (const double p : {0.0, 0.1, 0.5, 0.97}) {
    for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{3}, std::int64_t{1} << 40}) {
      const RunScalars scalars{.seed = 3, .iteration = 9, .sample_offset = offset};
      const Attributes attributes = {{"p", p}, {"key", std::int64_t{4}}};
      const auto want = run_op("dropout", attributes, {x}, scalars);
      const auto got = run_by_kernel("dropout", GetParam(), attributes, {x}, 2, scalars);
      for (std::int64_t i = 0; i < x.count(); ++i) ASSERT_EQ(got[0].at(i) == 0, want[0].at(i) == 0) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace thimble::testing
