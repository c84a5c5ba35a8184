// A concatenation of concatenations takes the first parts directly. What is dropped and made again is then made from
// the parts, each of which lives on anyway, and not through every concatenation before it.
#include <algorithm>

#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

constexpr std::size_t kMostParts = 64;  // as many as the op takes

// The axis counted from the front, so that -1 and 3 are the same.
std::int64_t axis_of(const Graph& graph, const Node& node) {
  const std::int64_t axis = node.attributes.integer("axis");
  return axis < 0 ? axis + graph.value(node.outputs[0]).type.shape.rank() : axis;
}

bool is_concat(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return value.producer.is_valid() && graph.node(value.producer).op->name == "concat";
}

// `node`'s inputs with every concatenation along the same axis replaced by its own, as long as they are not too many.
std::vector<ValueId> parts_of(const Graph& graph, const Node& node) {
  std::vector<ValueId> parts = node.inputs;
  for (std::size_t k = 0; k < parts.size();) {
    const Node* inner = is_concat(graph, parts[k]) ? &graph.node(graph.value(parts[k]).producer) : nullptr;
    if (inner == nullptr || axis_of(graph, *inner) != axis_of(graph, node) ||
        parts.size() + inner->inputs.size() - 1 > kMostParts) {
      ++k;
      continue;
    }
    const auto at = parts.begin() + static_cast<std::ptrdiff_t>(k);
    parts.insert(parts.erase(at), inner->inputs.begin(), inner->inputs.end());
  }
  return parts;
}

bool run(Graph& graph, const PassContext&) {
  const auto parts_in = [&](const Node& node) {
    return node.op->name == "concat" ? parts_of(graph, node) : node.inputs;
  };
  if (!any_node(graph, [&](const Node& node) { return parts_in(node) != node.inputs; })) return false;
  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    const std::vector<ValueId> parts = parts_in(node);
    if (parts == node.inputs) {
      rewriter.copy_node(id);
      continue;
    }
    const Value& whole = graph.value(node.outputs[0]);
    rewriter.map(node.outputs[0],
                 rewriter.graph().apply("concat", rewriter.mapped(parts), node.attributes, whole.name, whole.role));
  }
  graph = rewriter.take();
  return true;
}

}  // namespace

const Pass kFlattenConcats = {"flatten_concats", "concatenations of concatenations take the parts directly", run};

}  // namespace thimble::passes
