// A convolution's weight gradient that is only added to a running total is added where it is computed: one microbatch's
// gradient needs no memory of its own.
#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

constexpr std::string_view kShared[] = {"stride", "padding", "dilation", "groups"};

// The node whose output an accumulation swallows; invalid if it must stay.
NodeId swallowed_by(const Graph& graph, const Node& node, const std::vector<int>& readers) {
  if (node.op->name != "accumulate") return {};
  const Value& gradient = graph.value(node.inputs[1]);
  if (!gradient.producer.is_valid() || is_persistent(gradient.role)) return {};
  if (readers[static_cast<std::size_t>(node.inputs[1].index)] != 1) return {};
  return graph.node(gradient.producer).op->name == "conv2d_grad_weight" ? gradient.producer : NodeId{};
}

void fuse(Rewriter& rewriter, const Graph& graph, NodeId id, NodeId producer) {
  const Node &sum = graph.node(id), &gradient = graph.node(producer);
  Attributes attributes = {{"rounding", sum.attributes.word("rounding")}, {"key", sum.attributes.integer("key")}};
  for (const std::string_view name : kShared) attributes.set(name, gradient.attributes.integer(name));
  const std::vector<ValueId> in = rewriter.mapped(gradient.inputs);
  rewriter.replace_node(id, "conv2d_add_grad_weight", attributes, {rewriter.mapped(sum.inputs[0]), in[0], in[1]});
}

bool run(Graph& graph, const PassContext&) {
  const std::vector<int> readers = reader_counts(graph);
  return join_with_producers(
      graph, [&](const Node& node) { return swallowed_by(graph, node, readers); },
      [&](Rewriter& rewriter, NodeId id, NodeId producer) { fuse(rewriter, graph, id, producer); });
}

}  // namespace

const Pass kFuseAccumulate = {"fuse_accumulate", "add weight gradients to their total where they are computed", run};

}  // namespace thimble::passes
