// Small random graphs, the peak of an order, and the best peak that any order has.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "base/random.h"
#include "grad/differentiate.h"
#include "models/model.h"
#include "ops/table.h"
#include "schedule/order.h"
#include "support/select_references.h"

namespace thimble::testing {

inline Selected training_of(const std::string& model, std::int64_t samples, Shape sample) {
  ModelSpec spec{.name = model, .samples = samples, .sample = sample, .classes = 5};
  return select_references(differentiate(build_model(spec, op_table()).graph, {.samples = samples}, {}));
}

// `count` backward nodes over values of three sizes: products with a fixed matrix, or sums of two values of one size.
inline Selected random_graph(std::uint64_t seed, int count) {
  const RandomKey key = random_key(seed, RandomPurpose::test, 0);
  std::uint64_t draws = 0;
  const auto draw = [&](std::size_t below) { return random_below(key, draws++, below); };
  const std::int64_t widths[] = {16, 64, 256};
  Graph graph(op_table());
  std::vector<ValueId> values = {graph.add_source("x", {DType::f32, {16, 64}}, Role::input)};
  const auto width_of = [&](ValueId v) { return graph.value(v).type.shape[1]; };
  for (int n = 0; n < count; ++n) {
    const ValueId a = values[draw(values.size())], b = values[draw(values.size())];
    if (a != b && width_of(a) == width_of(b)) {
      values.push_back(graph.apply("add", {a, b}, {}, "sum", Role::gradient));
      continue;
    }
    const std::int64_t width = widths[draw(3)];
    const ValueId matrix =
        graph.add_source("m" + std::to_string(n), {DType::f32, {width_of(a), width}}, Role::statistic);
    values.push_back(graph.apply("linear", {a, matrix}, {}, "product", Role::gradient));
  }
  return select_references({{.samples = 16}, std::move(graph)});
}

// Live bytes of transient values, step by step: what is there from outside, what a node makes and what is still to be
// read. No sharing of memory in place.
class LiveCounter {
 public:
  explicit LiveCounter(const Graph& graph) : graph_(graph), left_(static_cast<std::size_t>(graph.value_count()), 0) {
    for (NodeId id{0}; id.index < graph.node_count(); ++id.index) {
      for (const ValueId input : graph.node(id).inputs) ++left_[static_cast<std::size_t>(input.index)];
    }
    for (ValueId id{0}; id.index < graph.value_count(); ++id.index) {
      if (!graph.value(id).producer.is_valid()) live_ += bytes_of(id);
    }
  }

  // Live bytes while the node runs; afterwards what nobody reads any more is gone.
  Bytes run(NodeId id) {
    const Node& node = graph_.node(id);
    for (const ValueId output : node.outputs) live_ += bytes_of(output);
    const Bytes during = live_;
    for (const ValueId input : node.inputs) {
      if (--left_[static_cast<std::size_t>(input.index)] == 0) live_ -= bytes_of(input);
    }
    for (const ValueId output : node.outputs) {
      if (left_[static_cast<std::size_t>(output.index)] == 0) live_ -= bytes_of(output);
    }
    return during;
  }

 private:
  Bytes bytes_of(ValueId id) const { return is_persistent(graph_.value(id).role) ? 0 : graph_.value(id).type.bytes(); }

  const Graph& graph_;
  std::vector<int> left_;
  Bytes live_ = 0;
};

inline Bytes peak_of(const Graph& graph, const std::vector<NodeId>& order) {
  LiveCounter counter(graph);
  Bytes peak = 0;
  for (const NodeId id : order) peak = std::max(peak, counter.run(id));
  return peak;
}

// The smallest peak of all topological orders, by trying them; updates are not bound here, so no graph may have any.
class BestOrder {
 public:
  explicit BestOrder(const Graph& graph) : graph_(graph), done_(static_cast<std::size_t>(graph.node_count()), false) {}

  Bytes run() {
    descend(LiveCounter(graph_), 0, 0);
    return best_;
  }

 private:
  bool is_ready(NodeId id) const {
    const std::vector<ValueId>& inputs = graph_.node(id).inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](ValueId v) {
      const NodeId producer = graph_.value(v).producer;
      return !producer.is_valid() || done_[static_cast<std::size_t>(producer.index)];
    });
  }

  void descend(const LiveCounter& counter, int depth, Bytes peak) {
    if (peak >= best_) return;
    if (depth == graph_.node_count()) {
      best_ = peak;
      return;
    }
    for (NodeId id{0}; id.index < graph_.node_count(); ++id.index) {
      if (done_[static_cast<std::size_t>(id.index)] || !is_ready(id)) continue;
      LiveCounter next = counter;
      const Bytes during = next.run(id);
      done_[static_cast<std::size_t>(id.index)] = true;
      descend(next, depth + 1, std::max(peak, during));
      done_[static_cast<std::size_t>(id.index)] = false;
    }
  }

  const Graph& graph_;
  std::vector<bool> done_;
  Bytes best_ = std::numeric_limits<Bytes>::max();
};

}  // namespace thimble::testing
