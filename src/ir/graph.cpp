#include "ir/graph.h"

#include <algorithm>
#include <queue>

#include "base/error.h"

namespace thimble {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::activation: return "activation";
    case Role::gradient: return "gradient";
    case Role::input: return "input";
    case Role::label: return "label";
    case Role::parameter: return "parameter";
    case Role::optimizer: return "optimizer";
    case Role::accumulator: return "accumulator";
    case Role::statistic: return "statistic";
    case Role::structure: return "structure";
    case Role::metric: return "metric";
  }
  return "?";
}

std::string Graph::unique_name(std::string_view name) const {
  std::string candidate(name);
  for (int suffix = 2; by_name_.contains(candidate); ++suffix)
    candidate = std::string(name) + "_" + std::to_string(suffix);
  return candidate;
}

ValueId Graph::add_source(std::string_view name, Type type, Role role) {
  require(!by_name_.contains(std::string(name)), "graph: there are two values named '", name, "'");
  const ValueId id{value_count()};
  values_.push_back({std::string(name), type, role, NodeId{}, 0, {}, 0});
  by_name_.emplace(name, id);
  return id;
}

NodeId Graph::add_node(std::string_view op_name, std::vector<ValueId> inputs, const Attributes& attributes,
                       std::string_view name, Role role) {
  const OpDef* op = find_op(ops_, op_name);
  require(op != nullptr, "graph: there is no op '", op_name, "' (wanted by '", name, "')");
  Node node{op, complete_attributes(*op, attributes), std::move(inputs), {}};
  std::vector<Type> in;
  for (const ValueId input : node.inputs) {
    ensure(input.is_valid() && input.index < value_count(), op_name, ": an input of '", name, "' does not exist");
    in.push_back(value(input).type);
  }
  std::vector<Type> out;
  try {
    out = op->infer({in, {}, &node.attributes});
  } catch (const UserError& error) {
    fail_user(join_text("'", name, "': ", std::string_view(error.what())));
  }
  const NodeId id{node_count()};
  for (std::size_t k = 0; k < out.size(); ++k) {
    const std::string value_name =
        unique_name(k == 0 ? std::string(name) : std::string(name) + "." + std::to_string(k));
    const ValueId output{value_count()};
    values_.push_back({value_name, out[k], role, id, static_cast<int>(k), {}, 0});
    by_name_.emplace(value_name, output);
    node.outputs.push_back(output);
  }
  nodes_.push_back(std::move(node));
  return id;
}

ValueId Graph::apply(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes,
                     std::string_view name, Role role) {
  return node(add_node(op, std::move(inputs), attributes, name, role)).outputs[0];
}

ValueId Graph::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? ValueId{} : found->second;
}

void Graph::rename(ValueId id, std::string_view name) {
  ensure(!by_name_.contains(std::string(name)), "graph: the name '", name, "' is taken");
  by_name_.erase(value(id).name);
  value(id).name = std::string(name);
  by_name_.emplace(name, id);
}

std::vector<NodeId> Graph::topological_order() const {
  // Kahn's algorithm; the smallest ready index first keeps the order of insertion wherever data allows it.
  std::vector<int> missing(nodes_.size(), 0);
  std::vector<std::vector<std::int32_t>> readers(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    for (const ValueId input : nodes_[n].inputs) {
      const NodeId producer = value(input).producer;
      if (!producer.is_valid()) continue;
      readers[static_cast<std::size_t>(producer.index)].push_back(static_cast<std::int32_t>(n));
      ++missing[n];
    }
  }
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (missing[n] == 0) ready.push(static_cast<std::int32_t>(n));
  }
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const NodeId id{ready.top()};
    ready.pop();
    order.push_back(id);
    for (const std::int32_t reader : readers[static_cast<std::size_t>(id.index)]) {
      if (--missing[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
  }
  ensure(order.size() == nodes_.size(), "graph: the nodes form a cycle");
  return order;
}

ValueId Graph::storage_of(ValueId id) const {
  for (;;) {
    const Value& current = value(id);
    if (!current.producer.is_valid() || !node(current.producer).op->is_update) return id;
    const Node& update = node(current.producer);
    ValueId before;
    for (const InPlacePair& pair : update.op->in_place) {
      if (pair.output == current.output_index) before = update.inputs[static_cast<std::size_t>(pair.input)];
    }
    if (!before.is_valid()) return id;
    id = before;
  }
}

Graph::NodeTypes Graph::types_of(NodeId id) const {
  NodeTypes types;
  for (const ValueId input : node(id).inputs) types.in.push_back(value(input).type);
  for (const ValueId output : node(id).outputs) types.out.push_back(value(output).type);
  return types;
}

}  // namespace thimble
