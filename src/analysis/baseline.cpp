#include "analysis/baseline.h"

#include <algorithm>
#include <vector>

namespace thimble {
namespace {

// Views, and the backward step of an activation, which overwrites the gradient it is handed.
bool shares_input(const OpDef& op) { return op.is_view || op.name == "relu_grad" || op.name == "relu6_grad"; }

}  // namespace

Bytes baseline_bytes(const Training& training) {
  const Graph& graph = training.graph;
  const std::vector<NodeId> order = graph.topological_order();
  const auto end = static_cast<std::int32_t>(order.size());
  std::vector<std::int32_t> made(static_cast<std::size_t>(graph.value_count()), 0), used(made);
  for (std::int32_t s = 0; s < end; ++s) {
    const Node& node = graph.node(order[static_cast<std::size_t>(s)]);
    for (const ValueId output : node.outputs) {
      made[static_cast<std::size_t>(output.index)] = s;
      used[static_cast<std::size_t>(output.index)] = std::max(used[static_cast<std::size_t>(output.index)], s);
    }
    for (const ValueId input : node.inputs) {
      std::int32_t& last = used[static_cast<std::size_t>(input.index)];
      last = std::max(last, s);
      if (node.op->is_update && graph.value(input).role == Role::gradient) {
        // A conventional optimizer runs at the end over all gradients, which keep their buffers from iteration to
        // iteration.
        made[static_cast<std::size_t>(input.index)] = 0;
        last = end;
      }
    }
  }
  for (auto it = order.rbegin(); it != order.rend();
       ++it) {  // backwards: chains of shared buffers end with their last reader
    const Node& node = graph.node(*it);
    if (!shares_input(*node.op)) continue;
    std::int32_t& last = used[static_cast<std::size_t>(node.inputs.back().index)];
    last = std::max(last, used[static_cast<std::size_t>(node.outputs[0].index)]);
  }
  Bytes persistent = 0;
  std::vector<Bytes> change(static_cast<std::size_t>(end) + 2, 0);
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    const Value& value = graph.value(ValueId{v});
    const auto index = static_cast<std::size_t>(v);
    if (value.role == Role::metric || value.role == Role::label) continue;
    if (value.producer.is_valid() && shares_input(*graph.node(value.producer).op)) continue;
    if (is_persistent(value.role)) {
      if (graph.storage_of(ValueId{v}) == ValueId{v}) persistent += value.type.bytes();
      continue;
    }
    change[static_cast<std::size_t>(made[index])] += value.type.bytes();
    change[static_cast<std::size_t>(used[index]) + 1] -= value.type.bytes();
  }
  Bytes live = 0, peak = 0;
  for (const Bytes delta : change) {
    live += delta;
    peak = std::max(peak, live);
  }
  return persistent + peak;
}

}  // namespace thimble
