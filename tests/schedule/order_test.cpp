// The order of nodes: data and updates are respected, and the peak is near the best that any order has.
#include "schedule/order.h"

#include <gtest/gtest.h>

#include "schedule/graphs.h"

namespace thimble::testing {
namespace {

// Every node once, after what it reads; an update after every other reader of what it overwrites.
void expect_sound(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(graph.node_count()), -1);
  for (std::size_t s = 0; s < order.size(); ++s) {
    EXPECT_EQ(place[static_cast<std::size_t>(order[s].index)], -1) << "twice";
    place[static_cast<std::size_t>(order[s].index)] = static_cast<std::int32_t>(s);
  }
  ASSERT_EQ(static_cast<std::int32_t>(order.size()), graph.node_count());
  for (NodeId id{0}; id.index < graph.node_count(); ++id.index) {
    const std::int32_t at = place[static_cast<std::size_t>(id.index)];
    for (const ValueId input : graph.node(id).inputs) {
      const NodeId producer = graph.value(input).producer;
      if (producer.is_valid()) {
        EXPECT_LT(place[static_cast<std::size_t>(producer.index)], at);
      }
    }
    if (!graph.node(id).op->is_update) continue;
    for (const InPlacePair& pair : graph.node(id).op->in_place) {
      const ValueId before = graph.node(id).inputs[static_cast<std::size_t>(pair.input)];
      for (NodeId other{0}; other.index < graph.node_count(); ++other.index) {
        const std::vector<ValueId>& inputs = graph.node(other).inputs;
        if (other != id && std::find(inputs.begin(), inputs.end(), before) != inputs.end()) {
          EXPECT_LT(place[static_cast<std::size_t>(other.index)], at) << graph.value(before).name;
        }
      }
    }
  }
}

// Greedy by what frees most is no optimum; these are the bounds it keeps on 300 random graphs of up to eight nodes.
constexpr double kWorstFactor = 1.35, kMeanFactor = 1.02;

TEST(Order, OfRandomGraphsIsNearTheBestOfAllOrders) {
  double sum = 0, worst = 0;
  int optimal = 0;
  constexpr int kGraphs = 300;
  for (std::uint64_t seed = 0; seed < kGraphs; ++seed) {
    const Selected selected = random_graph(seed, 3 + static_cast<int>(seed % 6));
    const std::vector<NodeId> order = order_nodes(selected);
    expect_sound(selected.graph(), order);
    const Bytes found = peak_of(selected.graph(), order), best = BestOrder(selected.graph()).run();
    ASSERT_GE(found, best) << "the exhaustive search missed an order, seed " << seed;
    const double factor = static_cast<double>(found) / static_cast<double>(best);
    sum += factor;
    worst = std::max(worst, factor);
    EXPECT_LE(found, peak_of(selected.graph(), selected.graph().topological_order())) << "seed " << seed;
    optimal += found == best ? 1 : 0;
  }
  EXPECT_LE(worst, kWorstFactor);
  EXPECT_LE(sum / kGraphs, kMeanFactor);
  EXPECT_GE(optimal, kGraphs * 9 / 10);
}

TEST(Order, OfTheZooIsSoundAndNoWorseThanTheOrderOfInsertion) {
  for (const char* model : {"wrn10-1", "wrn10-1-gn", "wrn16-2", "resnet18-gn", "lenet-300-100"}) {
    const Selected selected = training_of(model, 4, {16, 16, 3});
    const std::vector<NodeId> order = order_nodes(selected);
    expect_sound(selected.graph(), order);
    EXPECT_LE(peak_of(selected.graph(), order), peak_of(selected.graph(), selected.graph().topological_order()))
        << model;
  }
}

TEST(Order, UpdatesRunAsSoonAsTheirGradientExists) {
  const Selected selected = training_of("lenet-300-100", 4, {8, 8, 1});
  const Graph& graph = selected.graph();
  // fc3's parameters are written before the gradient of fc1 exists.
  const std::vector<NodeId> order = order_nodes(selected);
  const auto place = [&](const char* name) {
    return std::find(order.begin(), order.end(), graph.value(graph.find(name)).producer) - order.begin();
  };
  EXPECT_LT(place("next/fc3.bias"), place("next/fc1.weight"));
  EXPECT_LT(place("next/fc2.bias"), place("next/fc1.weight"));
}

TEST(Order, IsTheSameEveryTime) {
  const Selected a = training_of("wrn16-2", 4, {16, 16, 3}), b = training_of("wrn16-2", 4, {16, 16, 3});
  EXPECT_EQ(order_nodes(a), order_nodes(b));
}

}  // namespace
}  // namespace thimble::testing
