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

void fuse(Rewriter& rewriter, const Graph& graph, const Node& sum, const Node& gradient) {
  Attributes attributes = {{"rounding", sum.attributes.word("rounding")}, {"key", sum.attributes.integer("key")}};
  for (const std::string_view name : kShared) attributes.set(name, gradient.attributes.integer(name));
  const std::vector<ValueId> in = rewriter.mapped(gradient.inputs);
  const Value& total = graph.value(sum.outputs[0]);
  rewriter.map(sum.outputs[0],
               rewriter.graph().apply("conv2d_add_grad_weight", {rewriter.mapped(sum.inputs[0]), in[0], in[1]},
                                      attributes, total.name, total.role));
}

bool run(Graph& graph, const PassContext&) {
  const std::vector<int> readers = reader_counts(graph);
  std::vector<bool> is_swallowed(static_cast<std::size_t>(graph.node_count()), false);
  bool changed = false;
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const NodeId producer = swallowed_by(graph, graph.node(NodeId{n}), readers);
    if (!producer.is_valid()) continue;
    is_swallowed[static_cast<std::size_t>(producer.index)] = true;
    changed = true;
  }
  if (!changed) return false;
  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const NodeId id : graph.topological_order()) {
    if (is_swallowed[static_cast<std::size_t>(id.index)]) continue;
    const NodeId producer = swallowed_by(graph, graph.node(id), readers);
    if (producer.is_valid()) {
      fuse(rewriter, graph, graph.node(id), graph.node(producer));
    } else {
      rewriter.copy_node(id);
    }
  }
  graph = rewriter.take();
  return true;
}

}  // namespace

const Pass kFuseAccumulate = {"fuse_accumulate", "add weight gradients to their total where they are computed", run};

}  // namespace thimble::passes
