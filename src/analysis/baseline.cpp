#include "analysis/baseline.h"

#include <algorithm>
#include <vector>

namespace thimble {
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
      // A conventional optimizer runs at the end over all gradients at once.
      std::int32_t& last = used[static_cast<std::size_t>(input.index)];
      last = node.op->is_update && graph.value(input).role == Role::gradient ? end : std::max(last, s);
    }
  }
  Bytes persistent = 0;
  std::vector<Bytes> change(static_cast<std::size_t>(end) + 2, 0);
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    const Value& value = graph.value(ValueId{v});
    const auto index = static_cast<std::size_t>(v);
    const bool is_view = value.producer.is_valid() && graph.node(value.producer).op->is_view;
    if (is_view || value.role == Role::metric || value.role == Role::label) continue;
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
