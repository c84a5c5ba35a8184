#include "passes/fuse_activation.h"

#include <algorithm>
#include <map>

#include "passes/rewriter.h"

namespace thimble {
namespace {

// Known by name as a word of the producers' attribute 'activation'.
bool is_activation(const OpDef& op) { return op.name == "relu" || op.name == "relu6"; }

}  // namespace

bool fuse_activation(Graph& graph, std::span<const std::string_view> producers) {
  const std::vector<int> readers = reader_counts(graph);
  std::map<NodeId, NodeId> epilogue;  // producer -> the activation it swallows
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& activation = graph.node(NodeId{n});
    if (!is_activation(*activation.op)) continue;
    const Value& input = graph.value(activation.inputs[0]);
    if (!input.producer.is_valid() || input.output_index != 0 || is_persistent(input.role)) continue;
    if (readers[static_cast<std::size_t>(activation.inputs[0].index)] != 1) continue;
    const Node& producer = graph.node(input.producer);
    const bool is_wanted = std::find(producers.begin(), producers.end(), producer.op->name) != producers.end();
    if (is_wanted && producer.attributes.word("activation") == "none") epilogue[input.producer] = NodeId{n};
  }
  if (epilogue.empty()) return false;
  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (is_activation(*node.op)) {
      const NodeId producer = graph.value(node.inputs[0]).producer;
      const auto swallowed = producer.is_valid() ? epilogue.find(producer) : epilogue.end();
      if (swallowed != epilogue.end() && swallowed->second == id) {
        // The fused value goes by the activation's name: that is what later nodes and readers of the report know.
        const ValueId fused = rewriter.mapped(node.inputs[0]);
        rewriter.graph().rename(fused, graph.value(node.outputs[0]).name);
        rewriter.map(node.outputs[0], fused);
        continue;
      }
    }
    const auto own = epilogue.find(id);
    if (own == epilogue.end()) {
      rewriter.copy_node(id);
      continue;
    }
    Attributes attributes = node.attributes;
    attributes.set("activation", std::string(graph.node(own->second).op->name));
    rewriter.copy_node(id, attributes);
  }
  graph = rewriter.take();
  return true;
}

}  // namespace thimble
