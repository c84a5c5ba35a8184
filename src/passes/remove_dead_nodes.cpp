// Nodes that no update, accumulator or metric depends on go away, and sources that nobody reads with them.
#include <algorithm>

#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

std::vector<bool> find_live_nodes(const Graph& graph) {
  std::vector<bool> live(static_cast<std::size_t>(graph.node_count()), false);
  const std::vector<NodeId> order = graph.topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& node = graph.node(*it);
    bool is_root = node.op->is_update;
    for (const ValueId output : node.outputs) is_root = is_root || is_persistent(graph.value(output).role);
    if (is_root) live[static_cast<std::size_t>(it->index)] = true;
    if (!live[static_cast<std::size_t>(it->index)]) continue;
    for (const ValueId input : node.inputs) {
      const NodeId producer = graph.value(input).producer;
      if (producer.is_valid()) live[static_cast<std::size_t>(producer.index)] = true;
    }
  }
  return live;
}

bool run(Graph& graph, const PassContext&) {
  const std::vector<bool> live = find_live_nodes(graph);
  if (std::find(live.begin(), live.end(), false) == live.end()) return false;
  Rewriter rewriter(graph);
  rewriter
      .copy_sources();  // persistent sources stay: they are saved with the model even where a phase does not read them
  for (const NodeId id : graph.topological_order()) {
    if (live[static_cast<std::size_t>(id.index)]) rewriter.copy_node(id);
  }
  graph = rewriter.take();
  return true;
}

}  // namespace

const Pass kRemoveDeadNodes = {"remove_dead_nodes", "drop what no update, accumulator or metric depends on", run};

}  // namespace thimble::passes
