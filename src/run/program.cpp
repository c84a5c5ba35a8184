#include "run/program.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace thimble {
namespace {

constexpr std::byte kGuardByte{0xA5};
constexpr int kPoisonByte = 0xFF;  // a NaN in every floating type

// Runs an op's reference where no kernel serves. Owns the query, since the graph is gone when the program runs.
struct ReferenceState : KernelState {
  const OpDef* op = nullptr;
  std::vector<Type> in, out;
  Attributes attributes;
};

Status run_reference(const KernelState& state, const Call& call) noexcept {
  const auto& reference = static_cast<const ReferenceState&>(state);
  reference.op->reference({reference.in, reference.out, &reference.attributes}, call);
  return Status::good;
}

std::string describe_use(const Node& node, const Graph::NodeTypes& types) {
  std::string text(node.op->name);
  for (const Type& type : types.in) text += to_text(type);
  for (const Type& type : types.out) text += to_text(type);
  return text + to_text(node.attributes);
}

}  // namespace

Program::Program(std::span<const Selected> phases, const PlanSet& set, Arena& arena, const ProgramOptions& options)
    : arena_(arena), options_(options) {
  ensure(phases.size() == set.phases.size() && arena.bytes() >= set.arena_bytes,
         "program: plan and arena do not belong together");
  threads_ = phases.empty() ? 1 : phases[0].target.threads;
  for (const PersistentPlace& persistent : set.persistents) {
    persistents_.push_back({persistent.name,
                            persistent.role,
                            {arena.data() + persistent.place.offset, persistent.type.dtype, persistent.type.shape}});
  }
  for (std::size_t p = 0; p < phases.size(); ++p) phases_.push_back(bind(phases[p], set.phases[p]));
}

const KernelState* Program::state_for(const Selected& selected, NodeId id) {
  const Node& node = selected.graph().node(id);
  const Choice& choice = selected.choice(id);
  Graph::NodeTypes types = selected.graph().types_of(id);
  std::string use = describe_use(node, types);
  for (const PreparedState& known : states_) {
    if (known.kernel == choice.kernel && known.use == use) return known.state.get();
  }
  std::unique_ptr<KernelState> state;
  if (choice.kernel != nullptr) {
    state = choice.kernel->prepare({types.in, types.out, &node.attributes, selected.target.threads});
  } else {
    auto reference = std::make_unique<ReferenceState>();
    reference->op = node.op;
    reference->in = std::move(types.in);
    reference->out = std::move(types.out);
    reference->attributes = node.attributes;
    state = std::move(reference);
  }
  states_.push_back({choice.kernel, std::move(use), std::move(state)});
  return states_.back().state.get();
}

Program::BoundPhase Program::bind(const Selected& selected, const PhasePlan& plan) {
  const Graph& graph = selected.graph();
  BoundPhase bound;
  bound.phase = plan.phase;
  const auto view_at = [&](const Place& place, const Type& type) {
    return TensorView{arena_.data() + place.offset, type.dtype, type.shape};
  };
  for (const PlannedStep& step : plan.steps) {
    const Node& node = graph.node(step.node);
    if (node.op->is_view) continue;
    const Choice& choice = selected.choice(step.node);
    BoundStep entry;
    entry.run = choice.kernel != nullptr ? choice.kernel->run : run_reference;
    entry.state = state_for(selected, step.node);
    entry.first_view = static_cast<std::uint32_t>(bound.views.size());
    entry.input_count = static_cast<std::uint16_t>(step.in.size());
    entry.output_count = static_cast<std::uint16_t>(step.out.size());
    entry.workspace = step.workspace.bytes > 0 ? arena_.data() + step.workspace.offset : nullptr;
    for (std::size_t k = 0; k < step.in.size(); ++k)
      bound.views.push_back(view_at(step.in[k], graph.value(node.inputs[k]).type));
    for (std::size_t k = 0; k < step.out.size(); ++k)
      bound.views.push_back(view_at(step.out[k], graph.value(node.outputs[k]).type));
    bound.steps.push_back(entry);
  }
  bound.views.shrink_to_fit();
  for (const PlannedInput& input : plan.inputs) {
    bound.inputs.push_back({graph.value(input.value).name, view_at(input.place, graph.value(input.value).type)});
  }
  if (options_.poison) {
    // Step numbers of the plan count views, which are not bound.
    std::vector<std::int32_t> bound_index;
    std::int32_t next = -1;
    for (const PlannedStep& step : plan.steps) bound_index.push_back(graph.node(step.node).op->is_view ? next : ++next);
    for (const PlannedBuffer& buffer : plan.buffers) {
      bound.poisoned.push_back({bound_index[static_cast<std::size_t>(buffer.last_step)], buffer.place});
    }
    std::stable_sort(bound.poisoned.begin(), bound.poisoned.end(),
                     [](const Poisoned& a, const Poisoned& b) { return a.step < b.step; });
  }
  if (options_.guard > 0) {
    for (const PlannedBuffer& buffer : plan.buffers) {
      bound.guards.push_back({buffer.place.offset - options_.guard, options_.guard});
      bound.guards.push_back({round_up(buffer.place.end(), 64), options_.guard});
    }
    // Guards are checked for the first phase only: other phases lay their buffers elsewhere in the same arena.
    if (phases_.empty()) {
      for (const Place& guard : bound.guards)
        std::memset(arena_.data() + guard.offset, static_cast<int>(kGuardByte), static_cast<std::size_t>(guard.bytes));
    }
  }
  return bound;
}

int Program::phase_index(const Phase& phase) const {
  for (std::size_t p = 0; p < phases_.size(); ++p) {
    if (phases_[p].phase == phase) return static_cast<int>(p);
  }
  return -1;
}

Status Program::run(int index, const RunScalars& scalars) const noexcept {
  const BoundPhase& phase = phases_[static_cast<std::size_t>(index)];
  std::size_t next_poison = 0;
  for (std::size_t s = 0; s < phase.steps.size(); ++s) {
    const BoundStep& step = phase.steps[s];
    const TensorView* views = phase.views.data() + step.first_view;
    const Call call{
        {views, step.input_count}, {views + step.input_count, step.output_count}, step.workspace, &scalars, threads_};
    const Status status = step.run(*step.state, call);
    if (status != Status::good) return status;
    if (options_.poison) poison(phase, static_cast<std::int32_t>(s), next_poison);
  }
  return Status::good;
}

void Program::poison(const BoundPhase& phase, std::int32_t step, std::size_t& next) const noexcept {
  for (; next < phase.poisoned.size() && phase.poisoned[next].step <= step; ++next) {
    const Place& place = phase.poisoned[next].place;
    std::memset(arena_.data() + place.offset, kPoisonByte, static_cast<std::size_t>(place.bytes));
  }
}

TensorView Program::input(int phase, std::string_view name) const {
  for (const BoundInput& input : phases_[static_cast<std::size_t>(phase)].inputs) {
    if (input.name == name) return input.view;
  }
  fail_internal(join_text("program: the phase has no input '", name, "'"));
}

bool Program::has_persistent(std::string_view name) const {
  return std::any_of(persistents_.begin(), persistents_.end(), [&](const Persistent& p) { return p.name == name; });
}

TensorView Program::persistent(std::string_view name) const {
  for (const Persistent& persistent : persistents_) {
    if (persistent.name == name) return persistent.view;
  }
  fail_internal(join_text("program: there is no persistent value '", name, "'"));
}

int Program::damaged_guards() const noexcept {
  int damaged = 0;
  if (phases_.empty()) return 0;
  for (const Place& guard : phases_[0].guards) {
    for (Bytes i = 0; i < guard.bytes; ++i) damaged += arena_.data()[guard.offset + i] != kGuardByte ? 1 : 0;
  }
  return damaged;
}

}  // namespace thimble
