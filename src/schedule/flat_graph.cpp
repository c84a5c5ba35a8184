#include "schedule/flat_graph.h"

#include <algorithm>

namespace thimble {
namespace {

bool is_cloneable(const Graph& graph, const Node& node) {
  if (node.op->is_update) return false;
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) {
    return graph.value(v).role == Role::activation || graph.value(v).role == Role::gradient;
  });
}

}  // namespace

FlatGraph::FlatGraph(const Selected& selected) {
  const Graph& graph = selected.graph();
  values.reserve(static_cast<std::size_t>(graph.value_count()));
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    const Value& value = graph.value(ValueId{v});
    values.push_back({value.producer.is_valid() ? value.producer.index : -1, value.type.bytes(),
                      is_persistent(value.role), value.role == Role::gradient, false});
  }
  nodes.reserve(static_cast<std::size_t>(graph.node_count()));
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    const Choice& choice = selected.choice(NodeId{n});
    FlatNode flat;
    flat.first_operand = static_cast<std::int32_t>(operands.size());
    flat.input_count = static_cast<std::int16_t>(node.inputs.size());
    flat.output_count = static_cast<std::int16_t>(node.outputs.size());
    for (const ValueId input : node.inputs) operands.push_back(input.index);
    for (const ValueId output : node.outputs) operands.push_back(output.index);
    flat.first_pair = static_cast<std::int32_t>(pairs.size());
    for (const InPlacePair& pair : node.op->in_place) {
      if (pair.output >= flat.output_count || pair.input >= flat.input_count) continue;
      pairs.push_back(pair);
      const ValueId before = node.inputs[static_cast<std::size_t>(pair.input)];
      if (node.op->is_update) values[static_cast<std::size_t>(before.index)].is_overwritten = true;
    }
    flat.pair_count = static_cast<std::int16_t>(static_cast<std::int32_t>(pairs.size()) - flat.first_pair);
    flat.is_update = node.op->is_update;
    flat.is_view = node.op->is_view;
    flat.is_cloneable = is_cloneable(graph, node);
    flat.seconds = choice.seconds;
    flat.flops = choice.flops;
    flat.workspace = choice.workspace;
    nodes.push_back(flat);
  }
}

}  // namespace thimble
