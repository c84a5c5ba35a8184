#include "ir/verify.h"

#include "base/error.h"

namespace thimble {
namespace {

void verify_node(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  ensure(node.op != nullptr && !node.outputs.empty(), "verify: node ", id.index, " has no op or no output");
  const std::string& name = graph.value(node.outputs[0]).name;
  ensure(complete_attributes(*node.op, node.attributes) == node.attributes, "verify: '", name, "' lacks attributes");
  const Graph::NodeTypes types = graph.types_of(id);
  const std::vector<Type> inferred = node.op->infer({types.in, {}, &node.attributes});
  ensure(inferred == types.out, "verify: the types of '", name, "' (", node.op->name,
         ") do not follow from its inputs");
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const Value& output = graph.value(node.outputs[k]);
    ensure(output.producer == id && output.output_index == static_cast<int>(k), "verify: '", output.name,
           "' names another producer");
  }
}

void verify_versions(const Graph& graph) {
  std::vector<NodeId> updater(static_cast<std::size_t>(graph.value_count()));
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    if (!node.op->is_update) continue;
    for (const InPlacePair& pair : node.op->in_place) {
      if (pair.output >= static_cast<int>(node.outputs.size())) continue;
      const ValueId before = node.inputs[static_cast<std::size_t>(pair.input)];
      ensure(is_persistent(graph.value(before).role), "verify: '", graph.value(before).name,
             "' is updated but not persistent");
      NodeId& slot = updater[static_cast<std::size_t>(before.index)];
      ensure(!slot.is_valid(), "verify: '", graph.value(before).name, "' has two next versions");
      slot = NodeId{n};
    }
  }
}

}  // namespace

void verify(const Graph& graph) {
  for (const NodeId id : graph.topological_order()) verify_node(graph, id);
  verify_versions(graph);
}

}  // namespace thimble
