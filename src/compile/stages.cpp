#include "compile/stages.h"

#include <algorithm>

#include "base/error.h"
#include "compile/recipe.h"
#include "grad/differentiate.h"
#include "memory/place/request.h"
#include "memory/verify/verify.h"
#include "search/evaluate.h"

namespace thimble {
namespace {

constexpr std::int64_t kMostEvaluationSamples = 256;

PassContext pass_context(const CompileRequest& request, const std::vector<std::string>& sparse_tensors) {
  return {request.precision, request.master, request.sparsity, sparse_tensors};
}

// What another phase lacks (a step that only a closing one has, say) needs no exception.
Holding holding_for(const Scheduler& scheduler, const NamedHolding& named) {
  const Graph& graph = scheduler.selected().graph();
  Holding holding{scheduler.keep_all()};
  for (const NamedHolding::NamedMode& entry : named.modes) {
    const ValueId value = graph.find((*named.names)[static_cast<std::size_t>(entry.value)]);
    if (value.is_valid()) holding.mode(value) = entry.mode;
  }
  for (const NamedHolding::NamedGap& gap : named.gaps) {
    const ValueId value = graph.find((*named.names)[static_cast<std::size_t>(gap.value)]);
    const ValueId made = graph.find((*named.names)[static_cast<std::size_t>(gap.after)]);
    if (value.is_valid() && made.is_valid() && graph.value(made).producer.is_valid())
      holding.set({value, graph.value(made).producer, gap.is_held});
  }
  return holding;
}

// Storage that values share, as those of a pool do, counts once.
Bytes persistent_bytes_of(const Graph& graph) {
  std::set<std::string> known;
  Bytes bytes = 0;
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    const ValueId id{v};
    if (!is_persistent(graph.value(id).role) || graph.storage_of(id) != id) continue;
    if (known.insert(storage_name(graph, id)).second) bytes += round_up(graph.value(id).type.bytes(), kAlignment);
  }
  return bytes;
}

// Without transfers.
PhaseSchedule schedule_of(const Scheduler& scheduler, const NamedHolding& holding) {
  const bool trains = scheduler.selected().training.phase.trains;
  return scheduler.make(trains ? holding_for(scheduler, holding) : Holding{scheduler.keep_all()});
}

}  // namespace

bool is_batch_coupled(const Graph& graph) {
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    if (graph.node(NodeId{n}).op->batch_coupled) return true;
  }
  return false;
}

Stages::Stages(const CompileRequest& request, std::int64_t microbatch, OpTable ops, KernelTable kernels)
    : request_(request),
      microbatch_(microbatch),
      ops_(ops),
      kernels_(kernels),
      turns_(iteration_turns(request.batch, microbatch)) {
  for (const PhaseTurn& turn : turns_) add_phase(turn.phase);
  const std::int64_t rest = request.train_samples % request.batch;
  if (request.train_samples > 0 && rest > 0) {
    for (const PhaseTurn& turn : iteration_turns(rest, microbatch)) add_phase(turn.phase);
  }
  forward_.reset();
  Bytes most = -1;
  for (std::size_t p = 0; p < schedulers_.size(); ++p) {
    const Bytes peak = evaluate_all_kept(*schedulers_[p], buffers()).peak;
    if (peak > most) {
      most = peak;
      busiest_ = p;
    }
  }
  persistent_bytes_ = persistent_bytes_of(busiest().selected().graph());
}

BufferOptions Stages::buffers() const { return {request_.configuration.in_place, request_.configuration.reuse}; }

Bytes Stages::resident_kernel_bytes() const {
  Bytes bytes = 0;
  for (const Choice& choice : busiest().selected().choices) bytes += choice.resident;
  return bytes;
}

void Stages::add_coverage(CostCoverage& coverage) const {
  if (!request_.costs) return;
  coverage.ratio = request_.costs->ratio();
  for (const auto& selected : selected_) {
    for (std::int32_t n = 0; n < selected->graph().node_count(); ++n) {
      if (selected->graph().node(NodeId{n}).op->is_view) continue;
      ++(selected->choice(NodeId{n}).is_measured ? coverage.measured : coverage.missing);
    }
  }
}

std::int64_t Stages::node_count() const {
  std::int64_t count = 0;
  for (const auto& selected : selected_) count += selected->graph().node_count();
  return count;
}

void Stages::build_forward(std::int64_t samples, Mode mode) {
  if (forward_ && forward_->samples == samples && forward_->mode == mode) return;
  ModelSpec spec = request_.model;
  spec.samples = samples;
  spec.mode = mode;
  Model model = build_model(spec, ops_);
  if (tensors_.empty()) {
    tensors_ = model.tensors;
    batch_coupled_ = is_batch_coupled(model.graph);
    for (const TensorSpec& tensor : tensors_) {
      if (request_.sparsity > 0 && tensor.sparse_candidate) sparse_tensors_.push_back(tensor.name);
    }
  }
  std::vector<PassReport> reports = run_passes(model.graph, forward_recipe(), pass_context(request_, sparse_tensors_),
                                               request_.configuration.skipped_passes);
  forward_.emplace(Forward{samples, mode, std::move(model.graph), std::move(reports)});
}

void Stages::add_phase(const Phase& phase) {
  for (const auto& known : selected_) {
    if (known->training.phase == phase) return;
  }
  build_forward(phase.samples, phase.trains ? Mode::training : Mode::inference);
  const DifferentiateOptions how{request_.optimizer, request_.precision, turns_.size() > 1};
  Training training = phase.trains ? differentiate(forward_->graph, phase, how) : evaluation(forward_->graph, phase);
  std::vector<PassReport> reports = forward_->reports;
  const std::vector<PassReport> more =
      run_passes(training.graph, training_recipe(), pass_context(request_, sparse_tensors_),
                 request_.configuration.skipped_passes);
  reports.insert(reports.end(), more.begin(), more.end());
  if (reports_.empty()) reports_ = std::move(reports);
  SelectOptions options{.target = request_.target,
                        .use_references = request_.configuration.references,
                        .cost = {},
                        .measured = request_.costs.get()};
  selected_.push_back(std::make_unique<Selected>(select_kernels(std::move(training), kernels_, options)));
  schedulers_.push_back(std::make_unique<Scheduler>(*selected_.back()));
}

void Stages::add_evaluation(Bytes limit) {
  if (request_.test_samples <= 0) return;
  std::int64_t samples = std::min(microbatch_, request_.test_samples);
  for (std::int64_t trial = samples; trial <= std::min(kMostEvaluationSamples, request_.test_samples); trial *= 2) {
    const std::size_t count = selected_.size();
    add_phase({.samples = trial, .trains = false});
    const Scheduler& scheduler = *schedulers_.back();
    const bool fits = evaluate_all_kept(scheduler, buffers()).peak <= limit;
    schedulers_.resize(count);
    selected_.resize(count);
    if (!fits && trial > samples) break;
    samples = trial;
  }
  evaluation_samples_ = samples;
  for (const PhaseTurn& turn : evaluation_turns(request_.test_samples, samples)) add_phase(turn.phase);
  forward_.reset();
}

NamedHolding Stages::by_name(const Holding& holding) const {
  const Graph& graph = busiest().selected().graph();
  if (!names_) {
    NamedHolding::Names names;
    names.reserve(static_cast<std::size_t>(graph.value_count()));
    for (std::int32_t v = 0; v < graph.value_count(); ++v) names.push_back(graph.value(ValueId{v}).name);
    names_ = std::make_shared<const NamedHolding::Names>(std::move(names));
  }
  NamedHolding named{names_, {}, {}};
  const std::vector<Keep> base = busiest().keep_all();
  for (std::size_t v = 0; v < holding.keep.size(); ++v) {
    if (holding.keep[v] != base[v]) named.modes.push_back({static_cast<std::int32_t>(v), holding.keep[v]});
  }
  for (const Gap& gap : holding.gaps)
    named.gaps.push_back({gap.value.index, graph.node(gap.after).outputs.front().index, gap.is_held});
  return named;
}

Holding Stages::on_busiest(const NamedHolding& named) const { return holding_for(busiest(), named); }

std::vector<std::int32_t> Stages::by_name(const Offload& offload) const {
  std::vector<std::int32_t> homes;
  for (std::size_t v = 0; v < offload.homes.size(); ++v) {
    if (offload.homes[v]) homes.push_back(static_cast<std::int32_t>(v));
  }
  return homes;
}

Offload Stages::on(const Scheduler& scheduler, const NamedChoice& choice) const {
  const Graph& graph = scheduler.selected().graph();
  Offload offload{.homes = {}, .ahead = choice.ahead, .bytes_per_second = request_.spill_bandwidth};
  offload.homes.assign(static_cast<std::size_t>(graph.value_count()), false);
  for (const std::int32_t home : choice.homes) {
    const ValueId value = graph.find((*choice.holding.names)[static_cast<std::size_t>(home)]);
    if (value.is_valid()) offload.homes[static_cast<std::size_t>(value.index)] = true;
  }
  return offload;
}

bool NamedChoice::spills() const {
  return !homes.empty() || std::any_of(holding.modes.begin(), holding.modes.end(),
                                       [](const NamedHolding::NamedMode& entry) { return entry.mode == Keep::spill; });
}

Stages::Planned Stages::plan(const NamedChoice& choice, const std::string& strategy) const {
  std::vector<PhaseSchedule> schedules;
  for (const auto& scheduler : schedulers_) {
    schedules.push_back(schedule_of(*scheduler, choice.holding));
    add_transfers(scheduler->selected(), on(*scheduler, choice), schedules.back());
  }
  std::vector<ScheduledPhase> phases;
  for (std::size_t p = 0; p < schedules.size(); ++p) phases.push_back({selected_[p].get(), &schedules[p]});
  Planned planned;
  planned.plans = make_plan_set(phases, {.shares_spill = request_.changing && request_.allowed.contains("offload"),
                                         .buffers = buffers(),
                                         .guard = request_.configuration.guard_bytes()});
  planned.point = summary_of(planned.plans, strategy);
  planned.facts = facts_of(planned.plans.arena_bytes);
  planned.facts.has_spill_file = planned.plans.spill_bytes > 0;
  for (const PhaseSchedule& schedule : schedules)
    planned.facts.step_count += static_cast<std::int64_t>(schedule.steps.size());
  planned.reserve = predict_reserve(planned.facts);
  planned.point.process_bytes = planned.point.arena_bytes + planned.reserve.total();
  return planned;
}

ReserveFacts Stages::least_facts(const NamedChoice& choice, Bytes arena) const {
  ReserveFacts facts = facts_of(arena);
  facts.has_spill_file = choice.spills();
  for (const auto& scheduler : schedulers_)
    facts.step_count += static_cast<std::int64_t>(schedule_of(*scheduler, choice.holding).steps.size());
  return facts;
}

ReserveFacts Stages::facts_of(Bytes arena) const {
  return {.target = request_.target,
          .arena_bytes = arena,
          .busiest_node_count = busiest().selected().graph().node_count(),
          .loading_bytes = request_.loading_bytes,
          .resident_kernel_bytes = resident_kernel_bytes()};
}

PointSummary Stages::summary_of(const PlanSet& plans, const std::string& strategy) const {
  PointSummary point;
  point.microbatch = microbatch_;
  point.arena_bytes = plans.arena_bytes;
  point.lower_bound_bytes = plans.lower_bound_bytes;
  point.spill_bytes = plans.spill_bytes;
  point.strategy = strategy;
  if (batch_coupled_ && microbatch_ < request_.batch) point.levers.emplace_back("microbatch-norm");
  if (request_.precision == DType::bf16) point.levers.emplace_back("bf16");
  if (request_.master == Master::none) point.levers.emplace_back("no-master");
  if (request_.sparsity > 0) point.levers.emplace_back("sparsity");
  double flops = 0, recomputed = 0;
  for (const PhaseTurn& turn : turns_) {
    for (const PhasePlan& plan : plans.phases) {
      if (plan.phase != turn.phase) continue;
      point.seconds += plan.seconds;
      flops += plan.flops;
      recomputed += plan.recompute_flops;
      for (const PlannedTransfer& transfer : plan.transfers) point.moved_bytes += transfer.arena.bytes;
    }
  }
  point.recompute_flops_ratio = recomputed / std::max(flops - recomputed, 1.0);
  return point;
}

void Stages::verify(const PlanSet& plans) const {
  std::vector<std::vector<Bytes>> workspaces;
  std::vector<PhaseToVerify> phases;
  workspaces.reserve(selected_.size());
  for (const auto& selected : selected_) {
    std::vector<Bytes>& bytes = workspaces.emplace_back();
    for (const Choice& choice : selected->choices) bytes.push_back(choice.workspace);
    phases.push_back({&selected->training, bytes});
  }
  verify_plan(phases, plans);
}

PackedPlans Stages::packed(const PlanSet& plans) const {
  const Configuration& configuration = request_.configuration;
  const bool has_buffers = configuration.poison || configuration.guard;
  PackedPlans result = pack_frame(plans);
  for (std::size_t p = 0; p < selected_.size(); ++p) {
    result.phases.push_back(
        pack(selected_[p]->graph(), plans.phases[p], has_buffers ? PackedBuffers::listed : PackedBuffers::left_out));
  }
  return result;
}

std::vector<Selected> Stages::finish_phases() {
  schedulers_.clear();
  std::vector<Selected> phases;
  for (auto& selected : selected_) phases.push_back(std::move(*selected));
  selected_.clear();
  return phases;
}

Compiled Stages::finish(Planned planned) {
  verify(planned.plans);
  Compiled compiled;
  compiled.request = request_;
  compiled.microbatch = microbatch_;
  compiled.evaluation_samples = evaluation_samples_;
  compiled.tensors = std::move(tensors_);
  compiled.sparse_tensors = std::move(sparse_tensors_);
  add_coverage(compiled.coverage);
  compiled.phases = finish_phases();
  compiled.plans = std::move(planned.plans);
  compiled.point = std::move(planned.point);
  compiled.reserve = planned.reserve;
  compiled.passes = std::move(reports_);
  return compiled;
}

Reserve least_reserve(const CompileRequest& request, Bytes arena) {
  return predict_reserve({.target = request.target, .arena_bytes = arena, .loading_bytes = request.loading_bytes});
}

}  // namespace thimble
