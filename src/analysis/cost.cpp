#include "analysis/cost.h"

namespace thimble {

NodeCost cost_of(const Graph& graph, NodeId id, const CostModel& model) {
  const Node& node = graph.node(id);
  if (node.op->is_view) return {};
  const Graph::NodeTypes types = graph.types_of(id);
  NodeCost cost;
  cost.flops = node.op->flops ? node.op->flops(types.query(node)) : 0;
  for (const Type& type : types.in) cost.bytes += static_cast<double>(type.bytes());
  for (const Type& type : types.out) cost.bytes += static_cast<double>(type.bytes());
  // Arithmetic and traffic of a convolution overlap only in part; their sum errs on the safe side for small maps.
  cost.seconds = cost.flops / model.flops_per_second + cost.bytes / model.bytes_per_second + model.seconds_per_step;
  return cost;
}

}  // namespace thimble
