#include "analysis/cost.h"

namespace thimble {

std::string_view name_of(CostSource source) {
  switch (source) {
    case CostSource::model: return "model";
    case CostSource::measured: return "measured";
  }
  return "";
}

// Arithmetic and traffic of a convolution overlap only in part; their sum errs on the safe side for small maps.
double predicted_seconds(double flops, double bytes, const CostModel& model) {
  return flops / model.flops_per_second + bytes / model.bytes_per_second + model.seconds_per_step;
}

NodeCost cost_of(const Graph& graph, NodeId id, const CostModel& model, double pace) {
  const Node& node = graph.node(id);
  if (node.op->is_view) return {};
  const Graph::NodeTypes types = graph.types_of(id);
  NodeCost cost;
  cost.flops = node.op->flops ? node.op->flops(types.query(node)) : 0;
  for (const Type& type : types.in) cost.read_bytes += static_cast<double>(type.bytes());
  cost.bytes = cost.read_bytes;
  for (const Type& type : types.out) cost.bytes += static_cast<double>(type.bytes());
  cost.seconds = predicted_seconds(cost.flops / pace, cost.bytes, model);
  return cost;
}

}  // namespace thimble
