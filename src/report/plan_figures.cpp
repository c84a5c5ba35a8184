#include "report/plan_figures.h"

#include <algorithm>

#include "base/error.h"

namespace thimble {
namespace {

// Who holds a buffer at one step: several values may take turns in it.
struct Tenant {
  ValueId value;
  int last_read = -1;  // the last step of the buffer's life that reads it
};

const PlannedStep& step_at(const PhasePlan& plan, int step) { return plan.steps[static_cast<std::size_t>(step)]; }

bool holds(const PlannedBuffer& buffer, ValueId value) {
  return std::find(buffer.values.begin(), buffer.values.end(), value) != buffer.values.end();
}

// Through views to the value whose bytes they show.
ValueId without_views(const Graph& graph, ValueId value) {
  for (;;) {
    const NodeId producer = graph.value(value).producer;
    if (!producer.is_valid() || !graph.node(producer).op->is_view) return value;
    value = graph.node(producer).inputs.front();
  }
}

Tenant tenant_at(const Graph& graph, const PhasePlan& plan, const PlannedBuffer& buffer, int step) {
  Tenant tenant{without_views(graph, buffer.values.front()), -1};
  for (int s = buffer.first_step; s <= step; ++s) {
    if (step_at(plan, s).is_transfer()) continue;
    const Node& node = graph.node(step_at(plan, s).node);
    for (const ValueId output : node.outputs) {
      if (!node.op->is_view && holds(buffer, output)) tenant.value = output;
    }
  }
  for (int s = step; s <= buffer.last_step; ++s) {
    if (step_at(plan, s).is_transfer()) continue;
    for (const ValueId input : graph.node(step_at(plan, s).node).inputs) {
      if (without_views(graph, input) == tenant.value) tenant.last_read = s;
    }
  }
  return tenant;
}

// A gradient has the shape of what it updates, unless that is a pool. An update that makes the gradient itself also
// reads a layer's.
bool updates_by(const Graph& graph, const Node& update, ValueId input) {
  const Type& updated = graph.value(update.inputs[0]).type;
  const Value& value = graph.value(input);
  return value.role == Role::gradient && (updated.layout == Layout::pooled || value.type.shape == updated.shape);
}

// A gradient by which a parameter or its total is updated belongs to the parameter; any other is a layer's own.
bool is_parameter_gradient(const Graph& graph, const PhasePlan& plan, const PlannedBuffer& buffer) {
  for (int s = buffer.first_step; s <= buffer.last_step; ++s) {
    if (step_at(plan, s).is_transfer()) continue;
    const Node& node = graph.node(step_at(plan, s).node);
    if (!node.op->is_update) continue;
    for (const ValueId input : node.inputs) {
      if (holds(buffer, input) && updates_by(graph, node, input)) return true;
    }
  }
  return false;
}

// The same where the gradient is gone before its update comes, to be made again for it.
bool waits_for_norm(const Graph& graph, ValueId gradient) {
  for (NodeId id{0}; id.index < graph.node_count(); ++id.index) {
    const Node& node = graph.node(id);
    const bool is_read = std::find(node.inputs.begin(), node.inputs.end(), gradient) != node.inputs.end();
    if (is_read && node.op->is_update && updates_by(graph, node, gradient)) return true;
  }
  return false;
}

Bytes Categories::*category_of(Role role) {
  switch (role) {
    case Role::parameter:
    case Role::statistic:
    case Role::structure: return &Categories::parameters;
    case Role::optimizer: return &Categories::optimizer;
    case Role::accumulator: return &Categories::gradients;
    case Role::metric: return &Categories::workspace;
    case Role::input:
    case Role::label: return &Categories::input;
    case Role::activation:
    case Role::gradient: break;
  }
  return &Categories::activations;
}

Bytes Categories::*category_of(const Graph& graph, const PhasePlan& plan, const PlannedBuffer& buffer, ValueId value) {
  if (buffer.is_workspace) return &Categories::workspace;
  const Role role = graph.value(value).role;
  if (role == Role::gradient && (is_parameter_gradient(graph, plan, buffer) || waits_for_norm(graph, value)))
    return &Categories::gradients;
  return category_of(role);
}

bool is_alive(const PlannedBuffer& buffer, int step) { return buffer.first_step <= step && step <= buffer.last_step; }

Categories categories_at(const Compiled& compiled, const Peak& peak) {
  Categories categories;
  const PlanSet& plans = compiled.plans;
  categories.workspace = plans.staging.bytes;
  for (const PersistentPlace& persistent : plans.persistents) {
    if (persistent.space == Space::spill) continue;
    categories.*category_of(persistent.role) += persistent.place.bytes;
  }
  const PhasePlan& plan = plans.phases[peak.phase];
  const Graph& graph = compiled.phases[peak.phase].graph();
  for (const PlannedBuffer& buffer : plan.buffers) {
    if (!is_alive(buffer, peak.step)) continue;
    const ValueId value = buffer.is_workspace ? ValueId{} : tenant_at(graph, plan, buffer, peak.step).value;
    categories.*category_of(graph, plan, buffer, value) += buffer.place.bytes;
  }
  categories.slack = plans.arena_bytes - categories.sum();
  return categories;
}

std::string_view name_of(Bytes Categories::*category) {
  if (category == &Categories::gradients) return "gradient";
  if (category == &Categories::parameters) return "parameter";
  if (category == &Categories::optimizer) return "optimizer";
  if (category == &Categories::workspace) return "workspace";
  return category == &Categories::input ? "input" : "activation";
}

std::int64_t steps_of_iteration(const Compiled& compiled) {
  std::int64_t steps = 0;
  for (const PhaseTurn& turn : iteration_turns(compiled.request.batch, compiled.microbatch)) {
    for (const PhasePlan& plan : compiled.plans.phases) {
      if (plan.phase == turn.phase) steps += static_cast<std::int64_t>(plan.steps.size());
    }
  }
  return steps;
}

std::vector<std::string> levers_of(const Compiled& compiled) {
  std::vector<std::string> levers;
  const std::vector<std::string>& changing = compiled.point.levers;
  if (compiled.point.recompute_flops_ratio > 0) levers.emplace_back("recompute");
  if (compiled.plans.spill_bytes > 0) levers.emplace_back("offload");
  const bool changes_norm = std::find(changing.begin(), changing.end(), "microbatch-norm") != changing.end();
  if (compiled.microbatch < compiled.request.batch && !changes_norm) levers.emplace_back("microbatch");
  levers.insert(levers.end(), changing.begin(), changing.end());
  return levers;
}

}  // namespace

Peak find_peak(const PlanSet& plans) {
  Peak peak;
  for (std::size_t p = 0; p < plans.phases.size(); ++p) {
    if (plans.phases[p].transient_bytes > plans.phases[peak.phase].transient_bytes) peak.phase = p;
  }
  const PhasePlan& plan = plans.phases[peak.phase];
  std::vector<Bytes> change(plan.steps.size() + 1, 0);
  for (const PlannedBuffer& buffer : plan.buffers) {
    change[static_cast<std::size_t>(buffer.first_step)] += buffer.place.bytes;
    change[static_cast<std::size_t>(buffer.last_step) + 1] -= buffer.place.bytes;
  }
  Bytes live = 0, most = -1;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    live += change[s];
    if (live <= most) continue;
    most = live;
    peak.step = static_cast<int>(s);
  }
  return peak;
}

PlanFigures figures_of(const Compiled& compiled) {
  PlanFigures figures;
  figures.model = compiled.request.model.name;
  figures.labels = labels_of(figures.model);
  figures.batch = compiled.request.batch;
  figures.microbatch = compiled.microbatch;
  figures.budget_bytes = compiled.request.memory;
  if (compiled.request.optimizer.clip_norm > 0) figures.clip_norm = compiled.request.optimizer.clip_norm;
  figures.tensor_bytes = compiled.plans.arena_bytes;
  figures.baseline_bytes = compiled.baseline_bytes;
  figures.spill_bytes = compiled.plans.spill_bytes;
  figures.moved_bytes = compiled.point.moved_bytes;
  figures.lower_bound_bytes = compiled.plans.lower_bound_bytes;
  figures.process_bytes = compiled.plans.arena_bytes + compiled.reserve.total();
  figures.categories = categories_at(compiled, find_peak(compiled.plans));
  figures.reserve = compiled.reserve;
  figures.seconds = compiled.point.seconds;
  figures.recompute_flops_ratio = compiled.point.recompute_flops_ratio;
  figures.flops_per_sample = compiled.flops_per_sample;
  figures.steps = steps_of_iteration(compiled);
  for (const TensorSpec& tensor : compiled.tensors) {
    const PersistentPlace* place = compiled.plans.find(tensor.name);
    if (place == nullptr || place->role != Role::statistic) figures.parameter_count += tensor.type.shape.count();
  }
  figures.passes = compiled.passes;
  figures.levers = levers_of(compiled);
  return figures;
}

std::vector<AliveTensor> alive_at_peak(const Compiled& compiled) {
  const Peak peak = find_peak(compiled.plans);
  const PhasePlan& plan = compiled.plans.phases[peak.phase];
  const Graph& graph = compiled.phases[peak.phase].graph();
  std::vector<AliveTensor> tensors;
  for (const PlannedBuffer& buffer : plan.buffers) {
    if (!is_alive(buffer, peak.step)) continue;
    if (buffer.is_workspace) {
      tensors.push_back({"scratch", "workspace", buffer.place.bytes, "this step"});
      continue;
    }
    const Tenant tenant = tenant_at(graph, plan, buffer, peak.step);
    const int reader = tenant.last_read < 0 ? buffer.last_step : tenant.last_read;
    tensors.push_back({graph.value(tenant.value).name, name_of(category_of(graph, plan, buffer, tenant.value)),
                       buffer.place.bytes,
                       reader == peak.step ? "this step" : step_text(compiled, peak.phase, reader)});
  }
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const AliveTensor& a, const AliveTensor& b) { return a.bytes > b.bytes; });
  return tensors;
}

std::string step_text(const Compiled& compiled, std::size_t phase, int step) {
  const PhasePlan& plan = compiled.plans.phases[phase];
  const Graph& graph = compiled.phases[phase].graph();
  const PlannedStep& planned = step_at(plan, step);
  const std::string where = join_text("step ", step + 1, " of ", plan.steps.size(), ", ");
  if (planned.is_transfer()) {
    const auto index = static_cast<std::size_t>(planned.starts >= 0 ? planned.starts : planned.waits);
    const PlannedTransfer& transfer = plan.transfers[index];
    return join_text(where, transfer.direction == Direction::load ? "load" : "store", " of '",
                     graph.value(transfer.value).name, "'");
  }
  const Node& node = graph.node(planned.node);
  return join_text(where, node.op->name, " '", graph.value(node.outputs.front()).name, "'");
}

}  // namespace thimble
