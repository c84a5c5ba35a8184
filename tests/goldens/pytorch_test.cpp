// PyTorch as judge: forward, gradients and ten optimizer steps of the built-in networks, through the whole compiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"
#include "goldens/golden_run.h"

namespace thimble::testing {
namespace {

// Relative L2 error per tensor; what "agrees with PyTorch" means in this project. The judge computes in float64, and no
// input of a ReLU lies within rounding of zero (tools/goldens/edges.py), so what is left is our own rounding. Beside
// each bound: the largest error found over all cases, and PyTorch's own float32 (`float32_error` of the recipes).
constexpr double kForward = 1e-5;    // 1.7e-6; 1.0e-6
constexpr double kGradients = 3e-5;  // 9.9e-6; 5.4e-6
constexpr double kWeights = 3e-5;    // 7.6e-6: weights, running statistics and evaluation after ten steps
constexpr double kFirstNorm = 1e-6;  // length of all gradients at the first step
// Of the way the weights went in ten steps. A step near the last bit of a weight is felt here; a wrong rule is felt
// more: momentum goes a third less far than Nesterov.
constexpr double kFloat32Errors = 3;  // or as many times what PyTorch's own float32 errs by
constexpr double kMovement = 1e-2;    // 2.4e-3; 1.3e-3

// A bias between two norms without an activation changes nothing: PyTorch finds 1e-16 in double, we rounding's worth.
constexpr double kNothing = 1e-12, kNearlyNothing = 1e-4;

double length(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

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
    expect_at_most(golden.relative_error(tensor, ours), widened(tolerance, group_of(tensor)), tensor);
  }

  // A deep network with batch norm over few samples amplifies rounding, PyTorch's as well as ours.
  double widened(double tolerance, const std::string& group) const {
    const auto found = recipe.float32_error.find(group);
    return found == recipe.float32_error.end() ? tolerance : std::max(tolerance, kFloat32Errors * found->second);
  }

  // "logits", "gradient" of "gradient/NAME", "losses" of "nesterov/losses".
  static std::string group_of(const std::string& tensor) {
    const std::size_t slash = tensor.find('/');
    const bool is_gradient = tensor.starts_with("gradient/");
    return slash == std::string::npos ? tensor : is_gradient ? "gradient" : tensor.substr(slash + 1);
  }

  // Every tensor that PyTorch trained is there, and agrees. `untrained` gets all shifts without the steps: movement is
  // what the optimizer did.
  void expect_trained(const std::string& optimizer, const GoldenRun& run, GoldenRun& untrained) {
    for (std::int64_t step = 0; step < recipe.steps; ++step) untrained.shift(golden.shifts(optimizer, step));
    const std::size_t others = recipe.optimizers.at(optimizer).spec.clip_norm > 0 ? 3 : 2;
    ASSERT_EQ(golden.names_under(optimizer + "/").size(), run.tensors().size() + others)
        << "losses, evaluation_logits and, if they are clipped, gradient_norms";
    for (const TensorSpec& spec : run.tensors()) {
      const std::string name = optimizer + "/" + spec.name;
      const std::vector<double> ours = in_torch_order(run.tensor(spec.name));
      expect_agreement(name, ours, kWeights);
      const std::vector<double> origin = in_torch_order(untrained.tensor(spec.name));
      expect_at_most(golden.relative_error_from(name, ours, origin), kMovement, "movement of " + name);
    }
  }

  // Returns the losses; the lengths of all gradients, where they are clipped, go to `norms`.
  std::vector<double> train(const std::string& optimizer, GoldenRun& run, std::vector<double>* norms = nullptr) const {
    std::vector<double> losses;
    for (std::int64_t step = 0; step < recipe.steps; ++step) {
      const std::int64_t batch = recipe.batches.at(optimizer).at(static_cast<std::size_t>(step));
      run.shift(golden.shifts(optimizer, step));
      losses.push_back(run.train_step(batch, step, recipe.optimizers.at(optimizer).learning_rate));
      if (norms != nullptr) norms->push_back(load(run.tensor(std::string(kGradientNorm)), 0));
    }
    return losses;
  }
};

TEST_P(Pytorch, LogitsAndLossAgree) {
  GoldenRun run(recipe, {.keep_all = true});
  run.shift(golden.shifts("gradient", 0));
  const double loss = run.train_step(recipe.batches.at("gradient").at(0), 0, 0);
  expect_agreement("logits", run.logits(), kForward);
  expect_agreement("loss", {loss}, kForward);
}

TEST_P(Pytorch, GradientsAgree) {
  // Heavy-ball momentum that starts from zero holds the gradient itself after one step without weight decay.
  GoldenRun run(recipe, {.optimizer = {.kind = OptimizerKind::momentum}});
  run.shift(golden.shifts("gradient", 0));
  run.train_step(recipe.batches.at("gradient").at(0), 0, 0);
  const std::vector<std::string> names = golden.names_under("gradient/");
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    const std::vector<double> ours = in_torch_order(run.tensor("momentum/" + name));
    if (length(golden.stored("gradient/" + name)) < kNothing) {
      EXPECT_LT(length(ours), kNearlyNothing) << name;
    } else {
      expect_agreement("gradient/" + name, ours, kGradients);
    }
  }
}

TEST_P(Pytorch, TenStepsOfEveryOptimizerAgree) {
  ASSERT_FALSE(recipe.optimizers.empty());
  for (const auto& [name, optimizer] : recipe.optimizers) {
    GoldenRun run(recipe, {.optimizer = optimizer.spec});
    expect_agreement(name + "/losses", train(name, run), kForward);
    GoldenRun evaluation(recipe, {.keep_all = true, .evaluates = true});
    expect_trained(name, run, evaluation);
    evaluation.copy_tensors_from(run);
    evaluation.evaluate(recipe.batches.at(name).at(0));
    expect_agreement(name + "/evaluation_logits", evaluation.logits(), kWeights);
  }
}

std::string test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Small, Pytorch,
                         ::testing::Values("wrn10-1", "wrn10-1-gn", "wrn10-1-gn-clipped", "wrn16-1-smoothed",
                                           "lenet-300-100"),
                         test_name);
INSTANTIATE_TEST_SUITE_P(RealSize, Pytorch,
                         ::testing::Values("wrn28-2", "wrn28-2-gn", "resnet18-32", "resnet18-gn-32", "resnet18-224",
                                           "resnet18-gn-224"),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Zoo, Pytorch,
                         ::testing::Values("resnet20", "resnet50", "mobilenetv1", "mobilenetv2", "mobilenetv2-gn",
                                           "squeezenet1_0", "squeezenet1_1", "shufflenetv2", "densenet121", "vgg11-bn",
                                           "unet", "unet-bilinear-gn"),
                         test_name);

using PytorchMicrobatch = Pytorch;

// Six samples in microbatches of four: a ragged rest, sums over microbatches, PyTorch's whole-batch answers.
TEST_P(PytorchMicrobatch, StepsInMicrobatchesAgree) {
  for (const auto& [name, optimizer] : recipe.optimizers) {
    GoldenRun untrained(recipe, {});
    GoldenRun run(recipe, {.optimizer = optimizer.spec, .microbatch = 4});
    expect_agreement(name + "/losses", train(name, run), kForward);
    expect_trained(name, run, untrained);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, PytorchMicrobatch, ::testing::Values("wrn10-1-gn", "wrn10-1-gn-clipped"), test_name);

using PytorchClipping = Pytorch;

// Ten steps with the gradients kept, with backward run twice, and with accumulators: PyTorch's lengths before clipping.
TEST_P(PytorchClipping, LengthsOfAllGradientsAgreeInEveryForm) {
  for (const auto& [name, optimizer] : recipe.optimizers) {
    const std::vector<double> theirs = golden.stored(name + "/gradient_norms");
    const double limit = optimizer.spec.clip_norm;
    const auto bites = [&](double norm) { return norm > limit; };
    EXPECT_GE(std::count_if(theirs.begin(), theirs.end(), bites), 6) << "of ten steps";
    for (const bool smallest : {false, true}) {
      for (const std::int64_t microbatch : {recipe.batch, recipe.batch / 2}) {
        GoldenRun run(recipe, {.optimizer = optimizer.spec, .microbatch = microbatch, .smallest = smallest});
        GoldenRun untrained(recipe, {});
        std::vector<double> norms;
        expect_agreement(name + "/losses", train(name, run, &norms), kForward);
        expect_trained(name, run, untrained);
        for (std::size_t step = 0; step < theirs.size(); ++step) {
          expect_at_most(std::abs(norms[step] / theirs[step] - 1), step == 0 ? kFirstNorm : kForward,
                         join_text(name, " norm of step ", step));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Small, PytorchClipping, ::testing::Values("wrn10-1-gn-clipped"), test_name);

}  // namespace
}  // namespace thimble::testing
