// Nodes whose result is their input go away: casts to the same type, reshapes to the same shape, dropout of nothing,
// and global pooling of maps that are one pixel already (a view instead of a copy).
#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

bool is_plain(const Graph& graph, const Node& node) {
  return !node.op->is_update && !is_persistent(graph.value(node.outputs[0]).role);
}

bool is_identity(const Graph& graph, const Node& node) {
  if (!is_plain(graph, node)) return false;
  const std::string_view op = node.op->name;
  const bool same_type = graph.value(node.inputs[0]).type == graph.value(node.outputs[0]).type;
  if (op == "cast" || op == "reshape" || op == "flatten") return same_type;
  return op == "dropout" && node.attributes.number("p") == 0;
}

bool is_pool_of_single_pixel(const Graph& graph, const Node& node) {
  if (node.op->name != "global_avg_pool" || !is_plain(graph, node)) return false;
  const Shape& shape = graph.value(node.inputs[0]).type.shape;
  return shape[1] == 1 && shape[2] == 1;
}

bool run(Graph& graph, const PassContext&) {
  const bool has_any = any_node(
      graph, [&](const Node& node) { return is_identity(graph, node) || is_pool_of_single_pixel(graph, node); });
  if (!has_any) return false;
  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (is_identity(graph, node)) {
      rewriter.map(node.outputs[0], rewriter.mapped(node.inputs[0]));
    } else if (is_pool_of_single_pixel(graph, node)) {
      const Value& output = graph.value(node.outputs[0]);
      rewriter.map(node.outputs[0],
                   rewriter.graph().apply("flatten", {rewriter.mapped(node.inputs[0])}, {}, output.name, output.role));
    } else {
      rewriter.copy_node(id);
    }
  }
  graph = rewriter.take();
  return true;
}

}  // namespace

const Pass kSimplify = {"simplify", "drop nodes whose result is their input; views instead of copies", run};

}  // namespace thimble::passes
