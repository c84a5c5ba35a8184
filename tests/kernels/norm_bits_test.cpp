// A norm may be recomputed in two halves, moments and normalize: the planner relies on getting the same bits. And
// statistics must survive activations whose mean is large against their spread.
#include "kernels/support/kernel_lookup.h"

namespace thimble::testing {
namespace {

class NormBits : public ::testing::TestWithParam<std::tuple<Isa, DType, int>> {
 protected:
  Isa isa() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  int threads() const { return std::get<2>(GetParam()); }
};

std::string name_of_norm_case(const ::testing::TestParamInfo<NormBits::ParamType>& parameter) {
  const auto& [isa, dtype, threads] = parameter.param;
  return join_text(name_of(isa), "_", name_of(dtype), "_", threads, "threads");
}

INSTANTIATE_TEST_SUITE_P(All, NormBits,
                         ::testing::Combine(::testing::ValuesIn(runnable_isas()),
                                            ::testing::Values(DType::f32, DType::bf16), ::testing::Values(1, 2, 3)),
                         name_of_norm_case);

struct Operands {
  Tensor x, gamma, beta;
};

// Normalized values on both sides of zero and of six.
Operands operands_for(DType dtype, const Shape& shape) {
  const Type channel{DType::f32, {shape.at(-1)}};
  return {normal_tensor({dtype, shape}, 1, 0.5), normal_tensor(channel, 2, 3, 1), normal_tensor(channel, 3)};
}

TEST_P(NormBits, BatchMomentsAndNormalizeRepeatBatchNorm) {
  for (const Shape& shape : {Shape{7, 19, 18, 16}, Shape{5, 11, 13, 37}, Shape{411, 67}, Shape{2, 3, 3, 3}}) {
    const auto [x, gamma, beta] = operands_for(dtype(), shape);
    for (const std::string activation : {"none", "relu", "relu6"}) {
      const auto whole = run_by_kernel("batch_norm", isa(), {{"activation", activation}}, {x, gamma, beta}, threads());
      const auto moments = run_by_kernel("batch_moments", isa(), {}, {x}, threads());
      EXPECT_TRUE(same_bits(moments[0], whole[1]));
      EXPECT_TRUE(same_bits(moments[1], whole[2]));
      const auto y = run_by_kernel("normalize", isa(), {{"activation", activation}},
                                   {x, moments[0], moments[1], gamma, beta}, threads());
      EXPECT_TRUE(same_bits(y[0], whole[0]));
    }
  }
}

TEST_P(NormBits, GroupMomentsAndNormalizeRepeatGroupNorm) {
  for (const Shape& shape : {Shape{7, 19, 18, 16}, Shape{1, 33, 35, 24}, Shape{3, 40, 41, 4}, Shape{411, 68}}) {
    const auto [x, gamma, beta] = operands_for(dtype(), shape);
    const Attributes groups = {{"groups", std::int64_t{4}}};
    for (const std::string activation : {"relu", "relu6"}) {
      const Attributes rectified = {{"groups", std::int64_t{4}}, {"activation", activation}};
      const auto whole = run_by_kernel("group_norm", isa(), rectified, {x, gamma, beta}, threads());
      const auto moments = run_by_kernel("group_moments", isa(), groups, {x}, threads());
      EXPECT_TRUE(same_bits(moments[0], whole[1]));
      EXPECT_TRUE(same_bits(moments[1], whole[2]));
      const auto y = run_by_kernel("normalize", isa(), rectified, {x, moments[0], moments[1], gamma, beta}, threads());
      EXPECT_TRUE(same_bits(y[0], whole[0]));
    }
  }
}

// The mask that backward derives from x is the one that forward applied: where y is zero or six, dy does not pass. In
// bf16 a y of six may be a smaller number rounded, which only the norm itself can tell.
TEST_P(NormBits, BackwardSeesTheRectifierOfForward) {
  const auto [x, gamma, beta] = operands_for(dtype(), {6, 17, 19, 24});
  const Tensor dy = normal_tensor(x.type, 4, 2, 0.1);
  for (const std::string activation : {"relu", "relu6"}) {
    if (activation == "relu6" && dtype() == DType::bf16) continue;
    const Attributes rectified = {{"activation", activation}};
    const auto forward = run_by_kernel("batch_norm", isa(), rectified, {x, gamma, beta}, threads());
    const auto masked = run_by_kernel(activation + "_grad", isa(), {}, {forward[0], dy}, threads());
    const auto with_mask =
        run_by_kernel("batch_norm_grad", isa(), rectified, {x, forward[1], forward[2], gamma, beta, dy}, threads());
    const auto plain_grad =
        run_by_kernel("batch_norm_grad", isa(), {}, {x, forward[1], forward[2], gamma, beta, masked[0]}, threads());
    for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(same_bits(with_mask[k], plain_grad[k])) << "output " << k;
  }
}

TEST_P(NormBits, StatisticsOfEqualValuesAreExact) {
  Tensor x({dtype(), {8, 16, 16, 12}});
  for (std::int64_t i = 0; i < x.count(); ++i) x.set(i, 0.75);
  const auto got = run_by_kernel("batch_moments", isa(), {{"eps", 0.25}}, {x}, threads());
  EXPECT_EQ(got[0].values(), std::vector<double>(12, 0.75));
  EXPECT_EQ(got[1].values(), std::vector<double>(12, 2.0));
}

class NormAccuracy : public ::testing::TestWithParam<Isa> {};
INSTANTIATE_TEST_SUITE_P(All, NormAccuracy, ::testing::ValuesIn(runnable_isas()),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

// In f32 only: bf16 itself cannot hold such values.
TEST_P(NormAccuracy, StatisticsSurviveALargeMean) {
  const Tensor x = normal_tensor({DType::f32, {40, 16, 16, 20}}, 1, 1000, 0.5);
  const auto want = run_op("batch_moments", {}, {x});
  const int threads = 2;
  const auto got = run_by_kernel("batch_moments", GetParam(), {}, {x}, threads);
  EXPECT_LE(difference_of(got[0], want[0]).relative_max, 1e-7);
  EXPECT_LE(difference_of(got[1], want[1]).relative_max, 1e-6);
  const Attributes groups = {{"groups", std::int64_t{5}}};
  const auto group_want = run_op("group_moments", groups, {x});
  const auto group_got = run_by_kernel("group_moments", GetParam(), groups, {x}, threads);
  EXPECT_LE(difference_of(group_got[1], group_want[1]).relative_max, 1e-6);
}

}  // namespace
}  // namespace thimble::testing
