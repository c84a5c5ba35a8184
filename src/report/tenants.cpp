#include "report/tenants.h"

#include <algorithm>
#include <tuple>

namespace thimble {
namespace {

// The last of the ascending `steps` that is `last` or earlier; -1: none.
int last_until(const std::vector<int>& steps, int last) {
  const auto beyond = std::upper_bound(steps.begin(), steps.end(), last);
  return beyond == steps.begin() ? -1 : *std::prev(beyond);
}

// A gradient has the shape of what it updates, unless that is a pool. An update that makes the gradient itself also
// reads a layer's.
bool updates_by(const Graph& graph, const Node& update, ValueId input) {
  const Type& updated = graph.value(update.inputs[0]).type;
  const Value& value = graph.value(input);
  return value.role == Role::gradient && (updated.layout == Layout::pooled || value.type.shape == updated.shape);
}

}  // namespace

Tenants::Tenants(const Graph& graph, const PhasePlan& plan) : graph_(graph) {
  const auto values = static_cast<std::size_t>(graph.value_count());
  made_.resize(values);
  read_.resize(values);
  updates_.resize(values);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const int step = static_cast<int>(s);
    if (plan.steps[s].is_transfer()) continue;
    const Node& node = graph.node(plan.steps[s].node);
    for (const ValueId output : node.outputs) {
      if (!node.op->is_view) made_[index_of(output)].push_back(step);
    }
    for (const ValueId input : node.inputs) {
      read_[index_of(without_views(input))].push_back(step);
      if (node.op->is_update && updates_by(graph, node, input)) updates_[index_of(input)].steps.push_back(step);
    }
  }
  for (NodeId id{0}; id.index < graph.node_count(); ++id.index) {
    const Node& node = graph.node(id);
    if (!node.op->is_update) continue;
    for (const ValueId input : node.inputs) {
      if (updates_by(graph, node, input)) updates_[index_of(input)].is_wanted = true;
    }
  }
}

// To the value whose bytes they show.
ValueId Tenants::without_views(ValueId value) const {
  for (;;) {
    const NodeId producer = graph_.value(value).producer;
    if (!producer.is_valid() || !graph_.node(producer).op->is_view) return value;
    value = graph_.node(producer).inputs.front();
  }
}

Tenant Tenants::at(const PlannedBuffer& buffer, int step) const {
  Tenant tenant{without_views(buffer.values.front()), -1};
  std::tuple<int, int> latest{buffer.first_step, -1};  // step, and which output of its node
  for (const ValueId value : buffer.values) {
    const std::tuple<int, int> made{last_until(made_[index_of(value)], step), graph_.value(value).output_index};
    if (made <= latest) continue;
    latest = made;
    tenant.value = value;
  }
  const int last = last_until(read_[index_of(tenant.value)], buffer.last_step);
  if (last >= step) tenant.last_read = last;
  return tenant;
}

bool Tenants::is_parameter_gradient(const PlannedBuffer& buffer) const {
  return std::any_of(buffer.values.begin(), buffer.values.end(), [&](ValueId value) {
    return last_until(updates_[index_of(value)].steps, buffer.last_step) >= buffer.first_step;
  });
}

}  // namespace thimble
