#include "ir/text.h"

#include <functional>
#include <queue>
#include <utility>

#include "base/error.h"
#include "ir/text_token.h"

namespace thimble {
namespace {

const std::string& checked_name(const std::string& name) {
  ensure(is_name(name), "graph text: the name '", name, "' has characters other than letters, digits and . _ / - '");
  return name;
}

std::string quoted(std::string_view word) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {
      text += {'\\', 'x', kHexDigits[byte / 16], kHexDigits[byte % 16]};
    } else {
      text += c;
    }
  }
  return text + '"';
}

std::string value_text(const AttributeValue& value) {
  const auto* word = std::get_if<std::string>(&value);
  return word != nullptr && !is_plain_word(*word) ? quoted(*word) : attribute_text(value);
}

// Compared as text: -0.0 equals 0.0 and nan differs from itself, but neither may change on the way through the parser.
bool is_same(const AttributeValue& a, const AttributeValue& b) {
  return a.index() == b.index() && attribute_text(a) == attribute_text(b);
}

// What differs from the op's defaults, with a space before it; empty if nothing does.
std::string attributes_text(const Node& node) {
  Attributes compulsory;
  for (const auto& [name, value] : node.attributes.items()) {
    for (const AttributeDef& def : node.op->attributes) {
      if (def.name == name && def.fallback.empty()) compulsory.set(name, value);
    }
  }
  const Attributes plain = complete_attributes(*node.op, compulsory);
  ensure(plain.items().size() == node.attributes.items().size(), "graph text: attributes of a node of op ",
         node.op->name, " are not complete");
  std::string text;
  for (std::size_t k = 0; k < plain.items().size(); ++k) {
    const auto& [name, value] = node.attributes.items()[k];
    if (!compulsory.has(name) && is_same(value, plain.items()[k].second)) continue;
    text += text.empty() ? " {" : ", ";
    text += name + '=' + value_text(value);
  }
  return text.empty() ? text : text + '}';
}

std::string type_text(const Value& value) {
  const std::string text = to_text(value.type);
  if (value.pool.empty() && value.slot == 0) return text;
  ensure(value.type.layout == Layout::pooled, "graph text: '", value.name, "' has a pool but is not pooled");
  return join_text(text, "(", checked_name(value.pool), ":", value.slot, ")");
}

std::string source_line(const Value& value) {
  return join_text(name_of(value.role), " ", checked_name(value.name), " : ", type_text(value), "\n");
}

std::string node_line(const Graph& graph, const Node& node) {
  std::string names, types, inputs;
  Role role = Role::activation;
  for (const ValueId output : node.outputs) {
    const Value& value = graph.value(output);
    if (!names.empty()) names += ", ", types += ", ";
    if (value.role != role) names += join_text(name_of(value.role), " ");
    role = value.role;
    names += checked_name(value.name);
    types += type_text(value);
  }
  for (const ValueId input : node.inputs) {
    if (!inputs.empty()) inputs += ", ";
    inputs += checked_name(graph.value(input).name);
  }
  return join_text(names, " : ", types, " = ", node.op->name, "(", inputs, ")", attributes_text(node), "\n");
}

}  // namespace

// Kahn's algorithm over sources and nodes; the smallest id that is ready comes first.
std::string to_text(const Graph& graph) {
  std::vector<int> missing(static_cast<std::size_t>(graph.node_count()), 0);
  std::vector<std::vector<NodeId>> readers(static_cast<std::size_t>(graph.value_count()));
  for (NodeId id{0}; id.index < graph.node_count(); ++id.index) {
    const Node& node = graph.node(id);
    ensure(!node.outputs.empty(), "graph text: a node of op ", node.op->name, " has no outputs");
    missing[static_cast<std::size_t>(id.index)] = static_cast<int>(node.inputs.size());
    for (const ValueId input : node.inputs) readers[static_cast<std::size_t>(input.index)].push_back(id);
  }
  // A value stands for the line that makes it: a source, or a node's first output.
  std::priority_queue<ValueId, std::vector<ValueId>, std::greater<>> ready;
  const auto release = [&](ValueId made) {
    for (const NodeId reader : readers[static_cast<std::size_t>(made.index)]) {
      if (--missing[static_cast<std::size_t>(reader.index)] == 0) ready.push(graph.node(reader).outputs[0]);
    }
  };
  for (ValueId id{0}; id.index < graph.value_count(); ++id.index) {
    const NodeId producer = graph.value(id).producer;
    if (!producer.is_valid() || (graph.node(producer).inputs.empty() && graph.value(id).output_index == 0))
      ready.push(id);
  }
  std::string text;
  std::int64_t lines_left = graph.node_count();
  while (!ready.empty()) {
    const ValueId id = ready.top();
    ready.pop();
    const NodeId producer = graph.value(id).producer;
    if (!producer.is_valid()) {
      text += source_line(graph.value(id));
      release(id);
      continue;
    }
    --lines_left;
    text += node_line(graph, graph.node(producer));
    for (const ValueId output : graph.node(producer).outputs) release(output);
  }
  ensure(lines_left == 0, "graph text: the nodes form a cycle");
  return text;
}

}  // namespace thimble
