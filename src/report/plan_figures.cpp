#include "report/plan_figures.h"

#include <algorithm>

#include "base/error.h"
#include "report/tenants.h"

namespace thimble {
namespace {

const PlannedStep& step_at(const PhasePlan& plan, int step) { return plan.steps[static_cast<std::size_t>(step)]; }

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

Bytes Categories::*category_of(const Graph& graph, const Tenants& tenants, const PlannedBuffer& buffer, ValueId value) {
  const Role role = graph.value(value).role;
  if (role == Role::gradient && (tenants.is_parameter_gradient(buffer) || tenants.waits_for_update(value)))
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
  const Tenants tenants(graph, plan);
  for (const PlannedBuffer& buffer : plan.buffers) {
    if (!is_alive(buffer, peak.step)) continue;
    const auto category = buffer.is_workspace
                              ? &Categories::workspace
                              : category_of(graph, tenants, buffer, tenants.at(buffer, peak.step).value);
    categories.*category += buffer.place.bytes;
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
  figures.cost = compiled.request.cost;
  figures.coverage = compiled.coverage;
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
  const Tenants tenants(graph, plan);
  std::vector<AliveTensor> tensors;
  for (const PlannedBuffer& buffer : plan.buffers) {
    if (!is_alive(buffer, peak.step)) continue;
    if (buffer.is_workspace) {
      tensors.push_back({"scratch", "workspace", buffer.place.bytes, "this step"});
      continue;
    }
    const Tenant tenant = tenants.at(buffer, peak.step);
    const int reader = tenant.last_read < 0 ? buffer.last_step : tenant.last_read;
    tensors.push_back({graph.value(tenant.value).name, name_of(category_of(graph, tenants, buffer, tenant.value)),
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
