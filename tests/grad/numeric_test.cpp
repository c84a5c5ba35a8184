// A whole network's gradients against central differences of its loss, in f64: what single rules cannot show, that
// they are joined rightly.
#include <cmath>

#include "grad/networks.h"

namespace thimble::testing {
namespace {

// Convolutions, both norms, a residual sum of fan-out three, pooling, dropout and two linear layers.
constexpr std::string_view kNetwork = R"(input images : f64[3,6,6,2]
label labels : i32[3]
parameter stem.weight : f64[3,3,2,4]
stem : f64[3,6,6,4] = conv2d(images, stem.weight) {padding=1}
parameter bn.weight : f64[4]
parameter bn.bias : f64[4]
bn, bn.1, bn.2 : f64[3,6,6,4], f64[4], f64[4] = batch_norm(stem, bn.weight, bn.bias)
relu1 : f64[3,6,6,4] = relu(bn)
parameter conv.weight : f64[3,3,4,4]
conv : f64[3,6,6,4] = conv2d(relu1, conv.weight) {activation=relu, padding=1}
parameter gn.weight : f64[4]
parameter gn.bias : f64[4]
gn, gn.1, gn.2 : f64[3,6,6,4], f64[3,2], f64[3,2] = group_norm(conv, gn.weight, gn.bias) {groups=2}
sum1 : f64[3,6,6,4] = add(gn, relu1)
sum2 : f64[3,6,6,4] = add(sum1, stem)
pool, pool.1 : f64[3,3,3,4], u8[3,3,3,4] = max_pool(sum2) {kernel=2, stride=2}
flat : f64[3,36] = flatten(pool)
drop : f64[3,36] = dropout(flat) {key=7, p=0.25}
parameter fc1.weight : f64[36,5]
parameter fc1.bias : f64[5]
fc1 : f64[3,5] = linear(drop, fc1.weight, fc1.bias)
relu2 : f64[3,5] = relu(fc1)
parameter fc2.weight : f64[5,3]
parameter fc2.bias : f64[3]
logits : f64[3,3] = linear(relu2, fc2.weight, fc2.bias)
loss, hits : f64[1], f64[1] = softmax_cross_entropy(logits, labels) {smoothing=0.1}
)";

constexpr RunScalars kScalars{.seed = 3, .inverse_batch = 1.0F / 3, .learning_rate = 0.5F};

double loss_with(const Graph& forward, Values values) {
  run_graph(forward, values, kScalars);
  return values.at(forward.find("loss")).at(0);
}

double slope_along(const Graph& forward, const Values& values, ValueId parameter, std::int64_t element) {
  constexpr double kStep = 1e-6;
  Values left = values, right = values;
  left[parameter].set(element, values.at(parameter).at(element) - kStep);
  right[parameter].set(element, values.at(parameter).at(element) + kStep);
  return (loss_with(forward, std::move(right)) - loss_with(forward, std::move(left))) / (2 * kStep);
}

TEST(WholeNetwork, GradientsAreTheSlopesOfItsLoss) {
  const Graph forward = parse_graph(kNetwork, op_table());
  const Training training =
      train_graph(std::string(kNetwork), {.samples = 3}, {.optimizer = {.kind = OptimizerKind::sgd}});
  Values values = fill_sources(training.graph);
  const Values sources = values;
  run_graph(training.graph, values, kScalars);
  int checked = 0;
  for (const std::string& name : parameters_of(training.graph)) {
    const ValueId parameter = training.graph.find(name);
    const Tensor& gradient = values.at(gradient_of(training.graph, name));
    // Truncation is about 1e-11 and rounding 1e-9 here; a lost or doubled term shows at 1e-3 and more.
    for (std::int64_t i = 0; i < gradient.count(); i += std::max<std::int64_t>(1, gradient.count() / 12), ++checked) {
      EXPECT_NEAR(gradient.at(i), slope_along(forward, sources, parameter, i), 1e-6) << name << " element " << i;
    }
  }
  EXPECT_GT(checked, 70);
}

}  // namespace
}  // namespace thimble::testing
