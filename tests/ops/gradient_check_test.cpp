// The judge is judged: rules that are wrong in one small way must not pass the gradient check.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "support/gradient_check.h"

namespace thimble::testing {
namespace {

// How many failures the check reports for a rule, on one example of an op.
int failures_of(std::string_view op_name, void (*build)(GradBuilder&), std::size_t example = 0) {
  const OpDef* op = find_op(op_table(), op_name);
  ensure(op != nullptr, "there is no op '", op_name, "'");
  const OpCase c = in_f64(cases_of(*op)[example]);
  ::testing::TestPartResultArray results;
  {
    ::testing::ScopedFakeTestPartResultReporter reporter(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    check_gradient(c, {"under test", build});
  }
  return results.size();
}

int failures_of_own_rule(std::string_view op_name) {
  return failures_of(op_name, find_op(op_table(), op_name)->gradients[0].build);
}

TEST(GradientCheck, PassesRightRules) {
  for (const char* op : {"relu", "linear", "batch_norm", "softmax_cross_entropy"})
    EXPECT_EQ(failures_of_own_rule(op), 0) << op;
}

TEST(GradientCheck, CatchesAForgottenMask) {
  EXPECT_GT(failures_of("relu", [](GradBuilder& g) { g.give(0, g.grad()); }), 0);
}

TEST(GradientCheck, CatchesAMaskOfTheWrongTensor) {
  EXPECT_GT(failures_of("relu", [](GradBuilder& g) { g.give(0, g.apply("relu_grad", {g.grad(), g.grad()})); }), 0);
}

TEST(GradientCheck, CatchesAMissingGradient) {
  EXPECT_GT(failures_of("linear",
                        [](GradBuilder& g) {
                          g.give(0, g.apply("matmul", {g.grad(), g.in(1)},
                                            {{"transpose_b", std::int64_t{1}}, {"dtype", std::string("f64")}}));
                        }),
            0);
}

TEST(GradientCheck, CatchesAGradientOfTheWrongDtype) {
  EXPECT_GT(failures_of("cast",
                        [](GradBuilder& g) {
                          g.give(0, g.apply("cast", {g.grad()}, {{"dtype", std::string("f32")}}));
                        }),
            0);
}

TEST(GradientCheck, CatchesAnotherEpsilonInANorm) {
  // The variance is about one: this is an error of one part in a hundred thousand.
  EXPECT_GT(failures_of("batch_norm",
                        [](GradBuilder& g) {
                          const auto moments = g.apply_all("batch_moments", {g.in(0)}, {{"eps", 3e-5}});
                          const auto grads = g.apply_all("batch_norm_grad",
                                                         {g.in(0), moments[0], moments[1], g.in(1), g.in(2), g.grad()},
                                                         {{"activation", g.attributes().word("activation")}});
                          for (int k = 0; k < 3; ++k) g.give(k, grads[static_cast<std::size_t>(k)]);
                        }),
            0);
}

TEST(GradientCheck, CatchesForgottenSmoothingInTheLoss) {
  const auto forgetful = [](GradBuilder& g) { g.give(0, g.apply("softmax_cross_entropy_grad", {g.in(0), g.in(1)})); };
  EXPECT_EQ(failures_of("softmax_cross_entropy", forgetful, 0), 0);  // the first example has none
  EXPECT_GT(failures_of("softmax_cross_entropy", forgetful, 1), 0);
}

}  // namespace
}  // namespace thimble::testing
