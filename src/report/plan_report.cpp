#include "report/plan_report.h"

#include <algorithm>
#include <map>

#include "report/table.h"
#include "select/use.h"

namespace thimble {
namespace {

constexpr Bytes kNegligible = 200;  // a tensor this many times smaller than the largest is not worth a line

double ratio(Bytes a, Bytes b) { return static_cast<double>(a) / static_cast<double>(std::max<Bytes>(b, 1)); }

struct NamedBytes {
  const char* name;
  Bytes bytes;
};

std::vector<NamedBytes> parts_of(const Categories& c) {
  return {{"parameters", c.parameters},
          {"gradients", c.gradients},
          {"optimizer", c.optimizer},
          {"activations", c.activations},
          {"workspace", c.workspace},
          {"input", c.input},
          {"slack", c.slack}};
}

std::vector<NamedBytes> parts_of(const Reserve& r) {
  return {{"code", r.code},     {"libraries", r.libraries}, {"heap", r.heap},
          {"stacks", r.stacks}, {"tables", r.tables},       {"margin", r.margin}};
}

void add_bytes(Table& table, const char* name, Bytes bytes, std::string note = "") {
  table.add({name, to_mib(bytes), with_commas(bytes) + " B", std::move(note)});
}

void print_figures(std::FILE* out, const PlanFigures& figures) {
  Table arena;
  for (const NamedBytes& part : parts_of(figures.categories)) add_bytes(arena, part.name, part.bytes);
  add_bytes(arena, "arena", figures.tensor_bytes, "mapped once, every byte of it planned");
  arena.print(out);
  std::fprintf(out, "\n");
  Table compared;
  add_bytes(compared, "lower bound", figures.lower_bound_bytes,
            format("arena is %.2f of it", ratio(figures.tensor_bytes, figures.lower_bound_bytes)));
  add_bytes(compared, "baseline", figures.baseline_bytes,
            format("a conventional framework's tensors: %.1f times the arena",
                   ratio(figures.baseline_bytes, figures.tensor_bytes)));
  compared.print(out);
  std::fprintf(out, "\nBeside the arena:\n");
  Table reserve;
  for (const NamedBytes& part : parts_of(figures.reserve)) add_bytes(reserve, part.name, part.bytes);
  add_bytes(reserve, "reserve", figures.reserve.total());
  add_bytes(reserve, "process", figures.process_bytes, "arena and reserve: the most that will ever be resident");
  reserve.print(out);
  if (figures.spill_bytes == 0) return;
  std::fprintf(out, "\nOutside memory: a spill file of %s; %s pass between it and the arena in an iteration\n",
               to_bytes_text(figures.spill_bytes).c_str(), to_mib(figures.moved_bytes).c_str());
}

}  // namespace

void write_cost_fields(JsonWriter& json, CostSource cost, const CostCoverage& coverage) {
  json.text("cost", name_of(cost));
  const bool is_measured = cost == CostSource::measured;
  json.optional_integer("measured_costs", is_measured ? std::optional(coverage.measured) : std::nullopt);
  json.optional_integer("missing_costs", is_measured ? std::optional(coverage.missing) : std::nullopt);
}

std::string coverage_text(const CostCoverage& coverage) {
  const std::int64_t all = coverage.measured + coverage.missing;
  if (coverage.missing == 0) return join_text("Times of all ", all, " kernels are measured.");
  return join_text("Times of ", coverage.measured, " of ", all, " kernels are measured; those of the other ",
                   coverage.missing, " are predicted, times ", format("%.2f", coverage.ratio), ".");
}

void write_plan_fields(JsonWriter& json, const PlanFigures& figures, bool fits) {
  json.text("model", figures.model);
  json.text("labels", name_of(figures.labels));
  json.integer("batch", figures.batch);
  json.integer("microbatch", figures.microbatch);
  figures.clip_norm ? json.number("clip_norm", *figures.clip_norm) : json.null("clip_norm");
  json.boolean("fits", fits);
  json.optional_integer("budget_bytes", figures.budget_bytes);
  json.integer("tensor_bytes", figures.tensor_bytes);
  json.integer("baseline_bytes", figures.baseline_bytes);
  json.integer("lower_bound_bytes", figures.lower_bound_bytes);
  json.integer("process_bytes", figures.process_bytes);
  json.integer("spill_bytes", figures.spill_bytes);
  json.integer("moved_bytes", figures.moved_bytes);
  json.begin_object("categories");
  for (const NamedBytes& part : parts_of(figures.categories)) json.integer(part.name, part.bytes);
  json.end_object();
  json.begin_object("reserve");
  for (const NamedBytes& part : parts_of(figures.reserve)) json.integer(part.name, part.bytes);
  json.end_object();
  write_cost_fields(json, figures.cost, figures.coverage);
  json.number("recompute_flops_ratio", figures.recompute_flops_ratio);
  json.number("flops_per_sample", figures.flops_per_sample);
  json.integer("steps", figures.steps);
  json.begin_array("passes");
  for (const PassReport& pass : figures.passes) {
    json.begin_object();
    json.text("name", pass.name);
    json.boolean("skipped", pass.skipped);
    json.boolean("changed", pass.changed);
    json.integer("nodes_before", pass.nodes_before);
    json.integer("nodes_after", pass.nodes_after);
    json.end_object();
  }
  json.end_array();
  json.texts("levers", figures.levers);
}

std::string request_line(const CompileRequest& request, std::int64_t microbatch) {
  std::string line = join_text(request.model.name, ", batch ", request.batch);
  if (microbatch < request.batch) {
    const std::int64_t count = (request.batch + microbatch - 1) / microbatch;
    line += join_text(" as ", count, " microbatches of ", microbatch);
    if (request.batch % microbatch != 0) line += " (one is smaller)";
  }
  line += join_text(", ", name_of(request.optimizer.kind));
  if (request.optimizer.clip_norm > 0) line += join_text(" clipped at ", request.optimizer.clip_norm);
  line += join_text(", ", name_of(request.precision));
  if (request.master == Master::none) line += " throughout";
  if (request.sparsity > 0) line += join_text(", sparsity ", request.sparsity);
  if (request.cost == CostSource::measured) line += ", measured costs";
  return line + join_text(", ", name_of(request.target.isa), ", ", request.target.threads,
                          request.target.threads == 1 ? " thread" : " threads");
}

void print_plan(std::FILE* out, const Compiled& compiled) {
  const PlanFigures figures = figures_of(compiled);
  const Peak peak = find_peak(compiled.plans);
  std::fprintf(out, "%s\n", request_line(compiled.request, compiled.microbatch).c_str());
  std::fprintf(out, "%s parameters, input %s, %lld classes\n\n", with_commas(figures.parameter_count).c_str(),
               to_text(compiled.request.model.sample).c_str(), static_cast<long long>(compiled.request.model.classes));
  std::fprintf(out, "The arena at its peak (%s, %s):\n", name_of(compiled.plans.phases[peak.phase].phase).c_str(),
               step_text(compiled, peak.phase, peak.step).c_str());
  print_figures(out, figures);
  std::fprintf(out, "\nPredicted %s an iteration of %s steps, %.1f MFLOP a sample and %s of that again to recompute\n",
               to_duration(figures.seconds).c_str(), with_commas(figures.steps).c_str(), figures.flops_per_sample / 1e6,
               to_percent(figures.recompute_flops_ratio).c_str());
  if (figures.cost == CostSource::measured) std::fprintf(out, "%s\n", coverage_text(figures.coverage).c_str());
  std::string levers;
  for (const std::string& lever : figures.levers) levers += (levers.empty() ? "" : ", ") + lever;
  std::fprintf(out, "Levers in use: %s\n", levers.empty() ? "none" : levers.c_str());
}

void print_alive(std::FILE* out, const Compiled& compiled, std::size_t most) {
  const std::vector<AliveTensor> tensors = alive_at_peak(compiled);
  std::fprintf(out, "\nAlive at the peak beside parameters and optimizer state, and what each waits for:\n");
  Table table;
  Bytes rest = 0;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const AliveTensor& tensor = tensors[i];
    if (i < most && tensor.bytes * kNegligible >= tensors.front().bytes) {
      ++shown;
      table.add({to_mib(tensor.bytes), with_commas(tensor.bytes) + " B", std::string(tensor.category), tensor.name,
                 tensor.waits_for});
    } else {
      rest += tensor.bytes;
    }
  }
  if (rest > 0)
    table.add({to_mib(rest), with_commas(rest) + " B", "", join_text(tensors.size() - shown, " smaller ones")});
  table.print(out);
}

void print_passes(std::FILE* out, const Compiled& compiled) {
  std::fprintf(out, "\nPasses (nodes before and after, first phase):\n");
  Table table;
  for (const PassReport& pass : compiled.passes) {
    table.add({std::string(pass.name),
               pass.skipped   ? "skipped"
               : pass.changed ? "changed"
                              : "nothing to do",
               join_text(pass.nodes_before), join_text(pass.nodes_after)});
  }
  table.print(out);
}

void print_kernels(std::FILE* out, const Compiled& compiled) {
  const Peak peak = find_peak(compiled.plans);
  const Selected& selected = compiled.phases[peak.phase];
  const PhasePlan& plan = compiled.plans.phases[peak.phase];
  std::fprintf(out, "\nSteps of phase '%s', their kernels, and the kernels that refused:\n",
               name_of(plan.phase).c_str());
  Table table;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlannedStep& step = plan.steps[s];
    if (step.is_transfer()) {
      const auto index = static_cast<std::size_t>(step.starts >= 0 ? step.starts : step.waits);
      const PlannedTransfer& transfer = plan.transfers[index];
      table.add({join_text(s + 1), transfer.direction == Direction::load ? "load" : "store",
                 step.starts >= 0 ? "starts" : "ends", selected.graph().value(transfer.value).name, "", ""});
      continue;
    }
    const Node& node = selected.graph().node(step.node);
    const Choice& choice = selected.choice(step.node);
    std::string refusals;
    for (const Refusal& refusal : choice.refusals) {
      refusals += join_text(refusals.empty() ? "" : "; ", refusal.kernel, ": ", refusal.reason);
    }
    table.add({join_text(s + 1), std::string(node.op->name), std::string(kernel_name(choice)),
               selected.graph().value(node.outputs.front()).name, step.is_recompute ? "again" : "", refusals});
  }
  table.print(out);
}

}  // namespace thimble
