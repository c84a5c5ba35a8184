// Where two values are added, as gradients where branches meet or a norm and its shortcut, the one that a convolution
// or a norm makes is added to the other as it is made: it needs no memory of its own, and no pass over memory to join
// them.
#include <algorithm>

#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

struct Maker {
  std::string_view op;
  std::size_t inputs;  // without an addend, which comes behind them
};

constexpr Maker kMakers[] = {
    {"conv2d_grad_input", 2}, {"batch_norm_grad", 6}, {"group_norm_grad", 6}, {"normalize", 5}};

std::size_t index_of(NodeId id) { return static_cast<std::size_t>(id.index); }

bool is_maker(const Node& node) {
  return std::any_of(std::begin(kMakers), std::end(kMakers), [&](const Maker& maker) {
    return node.op->name == maker.op && node.inputs.size() == maker.inputs;
  });
}

bool is_sum(const Node& node) { return node.op->name == "add" && node.inputs[0] != node.inputs[1]; }

bool is_plain(const Node& node) { return node.attributes.word("activation") == "none"; }

// A norm rectifies behind its addend, the others not at all.
bool can_join(const Node& maker, const Node& sum) {
  return is_maker(maker) && (maker.op->name == "normalize" ? is_plain(maker) : is_plain(sum));
}

// For every maker the sum that it can join, else none. Of what a sum adds, what comes last joins it: the other is there
// by then.
std::vector<NodeId> sums_of_makers(const Graph& graph, const std::vector<NodeId>& order) {
  const std::vector<int> readers = reader_counts(graph);
  std::vector<NodeId> sums(order.size());
  std::vector<std::size_t> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) place[index_of(order[k])] = k + 1;
  const auto place_of = [&](ValueId value) {
    const NodeId producer = graph.value(value).producer;
    return producer.is_valid() ? place[index_of(producer)] : 0;
  };
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (!is_sum(node)) continue;
    const ValueId last = place_of(node.inputs[0]) > place_of(node.inputs[1]) ? node.inputs[0] : node.inputs[1];
    const Value& value = graph.value(last);
    const bool is_joined = value.producer.is_valid() && can_join(graph.node(value.producer), node) &&
                           value.output_index == 0 && readers[static_cast<std::size_t>(last.index)] == 1;
    if (is_joined) sums[index_of(value.producer)] = id;
  }
  return sums;
}

void fuse(Rewriter& rewriter, const Graph& graph, NodeId maker, const Node& sum) {
  const ValueId made = graph.node(maker).outputs[0], result = sum.outputs[0];
  std::vector<ValueId> in = rewriter.mapped(graph.node(maker).inputs);
  in.push_back(rewriter.mapped(sum.inputs[0] == made ? sum.inputs[1] : sum.inputs[0]));
  Attributes attributes = graph.node(maker).attributes;
  if (!is_plain(sum)) attributes.set("activation", sum.attributes.word("activation"));
  rewriter.copy_node(maker, attributes, in);
  const ValueId output = rewriter.mapped(made);
  rewriter.graph().rename(output, graph.value(result).name);
  rewriter.graph().value(output).role = graph.value(result).role;
  rewriter.map(result, output);
}

bool run(Graph& graph, const PassContext&) {
  const std::vector<NodeId> order = graph.topological_order();
  const std::vector<NodeId> sums = sums_of_makers(graph, order);
  std::vector<bool> is_joined(order.size(), false);
  for (const NodeId sum : sums) {
    if (sum.is_valid()) is_joined[index_of(sum)] = true;
  }
  if (std::find(is_joined.begin(), is_joined.end(), true) == is_joined.end()) return false;
  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const NodeId id : order) {
    if (is_joined[index_of(id)]) continue;
    const NodeId sum = sums[index_of(id)];
    if (sum.is_valid()) {
      fuse(rewriter, graph, id, graph.node(sum));
    } else {
      rewriter.copy_node(id);
    }
  }
  graph = rewriter.take();
  return true;
}

}  // namespace

const Pass kFuseSum = {"fuse_sum", "add to another value what a convolution or a norm makes as it is made", run};

}  // namespace thimble::passes
