// A convolution whose output a batch norm reads next gathers the norm's statistics while it makes it: one pass over
// memory less. All plans do it, where it pays: bf16 is read in the time in which it is summed up, so that nothing would
// be saved.
#include <algorithm>

#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

std::size_t index_of(NodeId id) { return static_cast<std::size_t>(id.index); }

// The convolution whose moments a node takes; none if it does not, or if they cannot be had of it.
NodeId maker_of(const Graph& graph, const Node& node) {
  if (node.op->name != "batch_moments") return {};
  const Value& x = graph.value(node.inputs[0]);
  if (!x.producer.is_valid() || x.output_index != 0) return {};
  const Node& maker = graph.node(x.producer);
  const bool is_convolution = maker.op->name == "conv2d" || maker.op->name == "norm_conv2d";
  if (x.type.dtype != DType::f32) return {};
  return is_convolution && maker.outputs.size() == 1 ? x.producer : NodeId{};
}

void fuse(Rewriter& rewriter, const Graph& graph, NodeId maker, const Node& moments) {
  Attributes attributes = graph.node(maker).attributes;
  attributes.set("moments_eps", moments.attributes.number("eps"));
  const NodeId made = rewriter.copy_node(maker, attributes);
  for (std::size_t k = 0; k < moments.outputs.size(); ++k) {
    const Value& statistic = graph.value(moments.outputs[k]);
    const ValueId output = rewriter.graph().node(made).outputs[k + 1];
    if (rewriter.graph().value(output).name != statistic.name) rewriter.graph().rename(output, statistic.name);
    rewriter.graph().value(output).role = statistic.role;
    rewriter.map(moments.outputs[k], output);
  }
}

bool run(Graph& graph, const PassContext&) {
  const std::vector<NodeId> order = graph.topological_order();
  std::vector<NodeId> moments(order.size());  // of each convolution
  std::vector<bool> is_joined(order.size(), false);
  for (const NodeId id : order) {
    const NodeId maker = maker_of(graph, graph.node(id));
    if (!maker.is_valid() || moments[index_of(maker)].is_valid()) continue;
    moments[index_of(maker)] = id;
    is_joined[index_of(id)] = true;
  }
  if (std::find(is_joined.begin(), is_joined.end(), true) == is_joined.end()) return false;
  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const NodeId id : order) {
    if (is_joined[index_of(id)]) continue;
    if (moments[index_of(id)].is_valid()) {
      fuse(rewriter, graph, id, graph.node(moments[index_of(id)]));
    } else {
      rewriter.copy_node(id);
    }
  }
  graph = rewriter.take();
  return true;
}

}  // namespace

const Pass kFuseMoments = {"fuse_moments", "gather a batch norm's statistics in the convolution before it", run};

}  // namespace thimble::passes
