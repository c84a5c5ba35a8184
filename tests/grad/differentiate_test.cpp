// Gradients for just the parameters asked for, by the rule that keeps fewest bytes, summed where a value has several
// readers.
#include "grad/differentiate.h"

#include <set>

#include "base/error.h"
#include "grad/networks.h"
#include "ir/grad_builder.h"

namespace thimble::testing {
namespace {

using Ops = std::vector<std::string>;

Ops ops_for(const std::string& text) { return added_ops(text, train_graph(text)); }

TEST(Differentiate, EveryParameterIsUpdatedOnce) {
  const Training training = train_graph(two_layers());
  for (const std::string& name : parameters_of(training.graph)) {
    int updates = 0;
    for (NodeId id{0}; id.index < training.graph.node_count(); ++id.index) {
      const Node& node = training.graph.node(id);
      updates += node.op->is_update && training.graph.storage_of(node.outputs[0]) == training.graph.find(name) ? 1 : 0;
    }
    EXPECT_EQ(updates, 1) << name;
    EXPECT_EQ(training.graph.value(gradient_of(training.graph, name)).type.shape,
              training.graph.value(training.graph.find(name)).type.shape);
  }
  EXPECT_EQ(training.graph.value(training.graph.find("loss")).role, Role::metric);
  EXPECT_EQ(training.graph.value(training.graph.find("hits")).role, Role::metric);
}

TEST(Differentiate, TheInputOfTheNetworkGetsNoGradient) {
  // One matmul back to relu1, one for each weight, none back to the images.
  EXPECT_EQ(ops_for(two_layers()),
            (Ops{"channel_sum", "channel_sum", "matmul", "matmul", "matmul", "momentum_update", "momentum_update",
                 "momentum_update", "momentum_update", "relu_grad", "softmax_cross_entropy_grad"}));
}

TEST(Differentiate, AFrozenLayerBringsNoNodes) {
  const std::string text = two_layers("statistic");
  EXPECT_EQ(ops_for(text),
            (Ops{"channel_sum", "matmul", "momentum_update", "momentum_update", "softmax_cross_entropy_grad"}));
  const Training training = train_graph(text);
  EXPECT_FALSE(update_of(training.graph, "fc1.weight").is_valid());
  EXPECT_FALSE(training.graph.find("momentum/fc1.weight").is_valid());
}

TEST(Differentiate, TheLastBiasAloneNeedsNoActivationOfEarlierLayers) {
  const std::string text = two_layers("statistic", "statistic", "parameter");
  EXPECT_EQ(ops_for(text), (Ops{"channel_sum", "momentum_update", "softmax_cross_entropy_grad"}));
  const Training training = train_graph(text);
  const std::int32_t forward = parse_graph(text, op_table()).node_count();
  std::set<std::string> read;
  for (NodeId id{forward}; id.index < training.graph.node_count(); ++id.index) {
    for (const ValueId input : training.graph.node(id).inputs) {
      if (training.graph.value(input).role == Role::activation) read.insert(training.graph.value(input).name);
    }
  }
  EXPECT_EQ(read, (std::set<std::string>{"logits"}));
}

TEST(Differentiate, AFrozenLayerInTheMiddlePassesItsGradientOn) {
  const Training training = train_graph(two_layers("parameter", "statistic", "statistic"));
  EXPECT_EQ(ops_for(two_layers("parameter", "statistic", "statistic")),
            (Ops{"channel_sum", "matmul", "matmul", "momentum_update", "momentum_update", "relu_grad",
                 "softmax_cross_entropy_grad"}));
  EXPECT_TRUE(update_of(training.graph, "fc1.bias").is_valid());
}

TEST(Differentiate, WithoutAnyParameterNothingIsAdded) {
  EXPECT_EQ(ops_for(two_layers("statistic", "statistic", "statistic")), Ops{});
}

TEST(Differentiate, AParameterThatNothingReadsIsLeftAlone) {
  const Training training = train_graph(two_layers() + "parameter idle : f32[7]\n");
  EXPECT_FALSE(update_of(training.graph, "idle").is_valid());
}

// x is read by `uses` sums, one after the other.
std::string fan_out(int uses) {
  std::string text =
      "input images : f32[4,3]\n"
      "label labels : i32[4]\n"
      "parameter w : f32[3,3]\n"
      "x : f32[4,3] = linear(images, w)\n"
      "s0 : f32[4,3] = relu(x)\n";
  for (int k = 1; k < uses; ++k) {
    const std::string n = std::to_string(k);
    text += "s" + n + " : f32[4,3] = add(s" + std::to_string(k - 1) + ", x)\n";
  }
  return text + "loss, hits : f32[1], f32[1] = softmax_cross_entropy(s" + std::to_string(uses - 1) + ", labels)\n";
}

TEST(FanOut, GradientsOfAllReadersAreSummedByOneAddLessThanReaders) {
  for (const int uses : {1, 2, 3, 5}) {
    const Ops ops = ops_for(fan_out(uses));
    EXPECT_EQ(std::count(ops.begin(), ops.end(), "add"), uses - 1);
  }
}

TEST(FanOut, AWeightThatTwoLayersShareHasOneSummedGradientAndOneUpdate) {
  const std::string text =
      "input images : f32[4,3]\n"
      "label labels : i32[4]\n"
      "parameter w : f32[3,3]\n"
      "a : f32[4,3] = linear(images, w)\n"
      "b : f32[4,3] = linear(a, w)\n"
      "loss, hits : f32[1], f32[1] = softmax_cross_entropy(b, labels)\n";
  EXPECT_EQ(ops_for(text), (Ops{"add", "matmul", "matmul", "matmul", "momentum_update", "softmax_cross_entropy_grad"}));
}

// A rectifier of the tests' own, with a rule that reads its input and one that reads its output.
std::vector<Type> infer_same(const OpQuery& q) { return {q.in[0]}; }
void from_input(GradBuilder& g) { g.give(0, g.apply("relu_grad", {g.in(0), g.grad()})); }
void from_output(GradBuilder& g) { g.give(0, g.apply("relu_grad", {g.out(), g.grad()})); }
constexpr GradientRule kTwoRules[] = {{"from_input", from_input}, {"from_output", from_output}};
constexpr OpDef kTwoRuled = {
    .name = "two_ruled", .formula = "y = max(x, 0)", .infer = infer_same, .gradients = kTwoRules};

// What the rectifier's gradient reads in a network where `reader` follows it.
std::string read_by_the_rule(const std::string& reader) {
  std::vector<const OpDef*> ops(op_table().begin(), op_table().end());
  ops.push_back(&kTwoRuled);
  std::sort(ops.begin(), ops.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  const std::string text =
      "input images : f32[4,3]\n"
      "label labels : i32[4]\n"
      "parameter w : f32[3,3]\n"
      "parameter v : f32[3,3]\n"
      "x : f32[4,3] = linear(images, w)\n"
      "y : f32[4,3] = two_ruled(x)\n" +
      reader + "loss, hits : f32[1], f32[1] = softmax_cross_entropy(z, labels)\n";
  const Graph graph = differentiate(parse_graph(text, ops), {.samples = 4}, {}).graph;
  for (NodeId id{0}; id.index < graph.node_count(); ++id.index) {
    if (graph.node(id).op->name == "relu_grad") return graph.value(graph.node(id).inputs[0]).name;
  }
  return "nothing";
}

TEST(Rules, TheFirstServesWhereNothingIsGained) { EXPECT_EQ(read_by_the_rule("z : f32[4,3] = add(y, y)\n"), "x"); }

TEST(Rules, TheOutputIsReadWhereALayerKeepsItAnyway) {
  EXPECT_EQ(read_by_the_rule("z : f32[4,3] = linear(y, v)\n"), "y");
}

TEST(Rules, TheInputIsReadWhereALayerKeepsThatInstead) {
  EXPECT_EQ(read_by_the_rule("t : f32[4,3] = linear(x, v)\nz : f32[4,3] = add(t, y)\n"), "x");
}

std::string refusal_of(const std::string& text) {
  try {
    train_graph(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Differentiate, AGraphWithoutLossOrHitsIsRefusedByName) {
  EXPECT_EQ(refusal_of("input images : f32[4,3]\ny : f32[4,3] = relu(images)\n").substr(0, 43),
            "model: found no node that makes 'loss', wan");
  const std::string no_hits =
      "input x : f32[4,3]\nlabel l : i32[4]\nloss, h : f32[1], f32[1] = "
      "softmax_cross_entropy(x, l)\n";
  EXPECT_EQ(refusal_of(no_hits).substr(0, 43), "model: found no node that makes 'hits', wan");
  EXPECT_THROW(evaluation(parse_graph(no_hits, op_table()), {.samples = 4, .trains = false}), UserError);
  EXPECT_EQ(refusal_of("metric loss : f32[1]\nmetric hits : f32[1]\n").substr(0, 38),
            "model: found no node that makes 'loss'");
}

TEST(Evaluation, IsTheForwardGraphWithItsMetrics) {
  const Graph forward = parse_graph(two_layers(), op_table());
  const Training training = evaluation(forward, {.samples = 4, .trains = false});
  EXPECT_EQ(training.graph.node_count(), forward.node_count());
  EXPECT_EQ(training.graph.value_count(), forward.value_count());
  EXPECT_EQ(training.graph.value(training.graph.find("loss")).role, Role::metric);
}

TEST(Phase, HasANameForEachPlaceInAnIteration) {
  EXPECT_EQ(name_of(Phase{10, true, true, true}), "whole 10");
  EXPECT_EQ(name_of(Phase{10, true, false, true}), "first 10");
  EXPECT_EQ(name_of(Phase{10, false, false, true}), "middle 10");
  EXPECT_EQ(name_of(Phase{10, false, true, true}), "last 10");
  EXPECT_EQ(name_of(Phase{10, true, true, false}), "evaluate 10");
}

}  // namespace
}  // namespace thimble::testing
