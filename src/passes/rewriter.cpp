#include "passes/rewriter.h"

#include <algorithm>

#include "base/error.h"

namespace thimble {

Rewriter::Rewriter(const Graph& old) : old_(old), new_(old.ops()), map_(static_cast<std::size_t>(old.value_count())) {}

ValueId Rewriter::mapped(ValueId old) const {
  const ValueId id = map_[static_cast<std::size_t>(old.index)];
  ensure(id.is_valid(), "rewriter: '", old_.value(old).name, "' is used before it is made");
  return id;
}

std::vector<ValueId> Rewriter::mapped(const std::vector<ValueId>& old) const {
  std::vector<ValueId> result;
  result.reserve(old.size());
  for (const ValueId id : old) result.push_back(mapped(id));
  return result;
}

void Rewriter::map(ValueId old, ValueId replacement) { map_[static_cast<std::size_t>(old.index)] = replacement; }

ValueId Rewriter::copy_source(ValueId old) {
  const Value& value = old_.value(old);
  const ValueId id = new_.add_source(value.name, value.type, value.role);
  new_.value(id).pool = value.pool;
  new_.value(id).slot = value.slot;
  map(old, id);
  return id;
}

void Rewriter::copy_sources() {
  for (std::int32_t v = 0; v < old_.value_count(); ++v) {
    if (!old_.value(ValueId{v}).producer.is_valid()) copy_source(ValueId{v});
  }
}

NodeId Rewriter::copy_node(NodeId old) { return copy_node(old, old_.node(old).attributes); }

NodeId Rewriter::copy_node(NodeId old, const Attributes& attributes) {
  return copy_node(old, attributes, mapped(old_.node(old).inputs));
}

NodeId Rewriter::copy_node(NodeId old, const Attributes& attributes, const std::vector<ValueId>& inputs) {
  return replace_node(old_.node(old), old_.node(old).op->name, attributes, inputs);
}

NodeId Rewriter::replace_node(const Node& node, std::string_view op, const Attributes& attributes,
                              const std::vector<ValueId>& inputs) {
  const NodeId id = new_.add_node(op, inputs, attributes, old_.value(node.outputs[0]).name);
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    const Value& value = old_.value(node.outputs[k]);
    const ValueId output = new_.node(id).outputs[k];
    if (new_.value(output).name != value.name) new_.rename(output, value.name);
    new_.value(output).role = value.role;
    new_.value(output).pool = value.pool;
    new_.value(output).slot = value.slot;
    map(node.outputs[k], output);
  }
  return id;
}

std::vector<int> reader_counts(const Graph& graph) {
  std::vector<int> counts(static_cast<std::size_t>(graph.value_count()), 0);
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    for (const ValueId input : graph.node(NodeId{n}).inputs) ++counts[static_cast<std::size_t>(input.index)];
  }
  return counts;
}

bool join_with_makers(Graph& graph, ValueId (*wanted)(const Graph&, const Node&),
                      void (*fuse)(Rewriter&, const Node&, const Node&)) {
  const std::vector<int> readers = reader_counts(graph);
  std::vector<NodeId> makers(static_cast<std::size_t>(graph.node_count()));
  std::vector<bool> is_swallowed(makers.size(), false);
  for (NodeId id{0}; id.index < graph.node_count(); ++id.index) {
    const ValueId input = wanted(graph, graph.node(id));
    if (!input.is_valid() || readers[static_cast<std::size_t>(input.index)] != 1) continue;
    const Value& value = graph.value(input);
    if (!value.producer.is_valid() || is_persistent(value.role)) continue;
    makers[static_cast<std::size_t>(id.index)] = value.producer;
    is_swallowed[static_cast<std::size_t>(value.producer.index)] = true;
  }
  if (std::find(is_swallowed.begin(), is_swallowed.end(), true) == is_swallowed.end()) return false;
  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const NodeId id : graph.topological_order()) {
    if (is_swallowed[static_cast<std::size_t>(id.index)]) continue;
    const NodeId maker = makers[static_cast<std::size_t>(id.index)];
    if (maker.is_valid()) {
      fuse(rewriter, graph.node(id), graph.node(maker));
    } else {
      rewriter.copy_node(id);
    }
  }
  graph = rewriter.take();
  return true;
}

}  // namespace thimble
