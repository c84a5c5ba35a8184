// PyTorch as judge: forward, gradients and ten optimizer steps of the built-in networks, through the whole compiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "goldens/golden_run.h"

namespace thimble::testing {
namespace {

// Relative L2 error per tensor; what "agrees with PyTorch" means in this project.
constexpr double kForward = 1e-4;
constexpr double kGradients = 1e-3;
constexpr double kWeights = 1e-4;
// Of the way the weights went. Looser, since rounding that moves a ReLU's input over zero is felt here in full; a wrong
// rule is felt more: momentum goes a third less far than Nesterov.
constexpr double kMovement = 0.2;

class Pytorch : public ::testing::TestWithParam<const char*> {
 protected:
  Golden golden{GetParam()};
  const Recipe& recipe = golden.recipe();
  double worst = 0;  // error as a share of its tolerance

  void TearDown() override { RecordProperty("worst_share_of_tolerance", std::to_string(worst)); }

  void expect_at_most(double error, double tolerance, const std::string& what) {
    EXPECT_LE(error, tolerance) << what;  // a NaN is not less
    worst = std::max(worst, error / tolerance);
  }

  void expect_agreement(const std::string& tensor, const std::vector<double>& ours, double tolerance) {
    expect_at_most(golden.relative_error(tensor, ours), tolerance, tensor);
  }

  // Every tensor that PyTorch trained is there, and agrees.
  void expect_trained(const std::string& optimizer, const GoldenRun& run, const GoldenRun& untrained) {
    ASSERT_EQ(golden.names_under(optimizer + "/").size(), run.tensors().size() + 2) << "losses, evaluation_logits";
    for (const TensorSpec& spec : run.tensors()) {
      const std::string name = optimizer + "/" + spec.name;
      const std::vector<double> ours = in_torch_order(run.tensor(spec.name));
      expect_agreement(name, ours, kWeights);
      const std::vector<double> origin = in_torch_order(untrained.tensor(spec.name));
      expect_at_most(golden.relative_error_from(name, ours, origin), kMovement, "movement of " + name);
    }
  }

  std::vector<double> train(const std::string& optimizer, GoldenRun& run) const {
    std::vector<double> losses;
    for (std::int64_t step = 0; step < recipe.steps; ++step) {
      const std::int64_t batch = recipe.batches.at(optimizer).at(static_cast<std::size_t>(step));
      losses.push_back(run.train_step(batch, step, recipe.optimizers.at(optimizer).learning_rate));
    }
    return losses;
  }
};

TEST_P(Pytorch, LogitsAndLossAgree) {
  GoldenRun run(recipe, {.keep_all = true});
  const double loss = run.train_step(recipe.batches.at("gradient").at(0), 0, 0);
  expect_agreement("logits", run.logits(), kForward);
  expect_agreement("loss", {loss}, kForward);
}

TEST_P(Pytorch, GradientsAgree) {
  // Heavy-ball momentum that starts from zero holds the gradient itself after one step without weight decay.
  GoldenRun run(recipe, {.optimizer = {.kind = OptimizerKind::momentum}});
  run.train_step(recipe.batches.at("gradient").at(0), 0, 0);
  const std::vector<std::string> names = golden.names_under("gradient/");
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    expect_agreement("gradient/" + name, in_torch_order(run.tensor("momentum/" + name)), kGradients);
  }
}

TEST_P(Pytorch, TenStepsOfEveryOptimizerAgree) {
  ASSERT_FALSE(recipe.optimizers.empty());
  for (const auto& [name, optimizer] : recipe.optimizers) {
    GoldenRun run(recipe, {.optimizer = optimizer.spec});
    expect_agreement(name + "/losses", train(name, run), kWeights);
    GoldenRun evaluation(recipe, {.keep_all = true, .evaluates = true});
    expect_trained(name, run, evaluation);
    evaluation.copy_tensors_from(run);
    evaluation.evaluate(recipe.batches.at(name).at(0));
    // Weights that agree to kWeights are not equal; what a deep network makes of the difference is larger.
    expect_agreement(name + "/evaluation_logits", evaluation.logits(), kGradients);
  }
}

std::string test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Small, Pytorch,
                         ::testing::Values("wrn10-1", "wrn10-1-gn", "wrn16-1-smoothed", "lenet-300-100"), test_name);
INSTANTIATE_TEST_SUITE_P(RealSize, Pytorch, ::testing::Values("wrn28-2-gn", "resnet18-gn-16"), test_name);

using PytorchMicrobatch = Pytorch;

// Six samples in microbatches of four: a ragged rest, sums over microbatches, PyTorch's whole-batch answers.
TEST_P(PytorchMicrobatch, StepsInMicrobatchesAgree) {
  const GoldenRun untrained(recipe, {});
  for (const auto& [name, optimizer] : recipe.optimizers) {
    GoldenRun run(recipe, {.optimizer = optimizer.spec, .microbatch = 4});
    expect_agreement(name + "/losses", train(name, run), kWeights);
    expect_trained(name, run, untrained);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, PytorchMicrobatch, ::testing::Values("wrn10-1-gn"), test_name);

}  // namespace
}  // namespace thimble::testing
