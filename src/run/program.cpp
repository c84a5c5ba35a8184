#include "run/program.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/error.h"
#include "run/relocate.h"

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

Program::Program(std::span<const Selected> phases, const PlanSet& set, Arena& arena, const ProgramOptions& options,
                 Mover* mover)
    : arena_(arena), options_(options), mover_(mover) {
  ensure(phases.size() == set.phases.size() && arena.bytes() >= set.arena_bytes,
         "program: plan and arena do not belong together");
  threads_ = phases.empty() ? 1 : phases[0].target.threads;
  add_phases(phases);
  const bool has_buffers = options.poison || options.guard > 0;
  first_ = pack_frame(set);
  for (std::size_t p = 0; p < phases.size(); ++p) {
    const PackedBuffers buffers = has_buffers ? PackedBuffers::listed : PackedBuffers::left_out;
    first_.phases.push_back(pack(phases[p].graph(), set.phases[p], buffers));
  }
  enter(first_, set.persistents);
}

void Program::add_phases(std::span<const Selected> phases) {
  for (const Selected& selected : phases) {
    const auto is_same = [&](const BoundPhase& known) { return known.phase == selected.training.phase; };
    if (std::none_of(phases_.begin(), phases_.end(), is_same)) phases_.push_back(bind(selected));
  }
}

void Program::enter(const PackedPlans& plans, std::span<const PersistentPlace> persistents) {
  ensure(arena_.bytes() >= plans.arena_bytes, "program: found an arena of ", arena_.bytes(), " bytes, wanted ",
         plans.arena_bytes);
  ensure(plans.spill_bytes == 0 || (mover_ != nullptr && mover_->file().bytes() >= plans.spill_bytes),
         "program: the plan wants a spill file of ", plans.spill_bytes, " bytes");
  for (BoundPhase& bound : phases_) {
    const auto same = std::find_if(plans.phases.begin(), plans.phases.end(),
                                   [&](const PackedPhase& packed) { return packed.phase == bound.phase; });
    bound.plan = same == plans.phases.end() ? nullptr : &*same;
  }
  ensure(plans.persistents.size() == persistents.size(), "program: found ", plans.persistents.size(),
         " places for persistent values, wanted ", persistents.size());
  std::vector<Persistent> to;
  to.reserve(persistents.size());
  for (std::size_t p = 0; p < persistents.size(); ++p) {
    const PackedPlace& place = plans.persistents[p];
    const Type& type = persistents[p].type;
    const bool is_spilled = place.space == Space::spill;
    std::byte* data = is_spilled ? nullptr : arena_.data() + place.offset();
    to.push_back(
        {persistents[p].name, persistents[p].role, {data, type.dtype, type.shape}, is_spilled ? place.offset() : -1});
  }
  move_persistents(std::move(to));
  if (options_.guard > 0) set_guards();
  if (&plans != &first_) first_ = {};
}

void Program::move_persistents(std::vector<Persistent> to) {
  std::vector<Relocation> moves;
  for (std::size_t p = 0; p < to.size(); ++p) {
    // Plans of one microbatch have the same values in the same order.
    const bool is_at_p = p < persistents_.size() && persistents_[p].name == to[p].name;
    const auto from = is_at_p ? persistents_.begin() + static_cast<std::ptrdiff_t>(p)
                              : std::find_if(persistents_.begin(), persistents_.end(),
                                             [&](const Persistent& known) { return known.name == to[p].name; });
    if (from == persistents_.end()) continue;
    moves.push_back({{static_cast<std::byte*>(from->view.data), from->spill_offset},
                     {static_cast<std::byte*>(to[p].view.data), to[p].spill_offset},
                     to[p].view.shape.count() * bytes_of(to[p].view.dtype)});
  }
  relocate(moves, mover_ == nullptr ? nullptr : &mover_->file());
  persistents_ = std::move(to);
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

std::uint32_t Program::type_index(const Type& type) {
  const auto known = std::find(types_.begin(), types_.end(), type);
  const auto index = static_cast<std::uint32_t>(known - types_.begin());
  if (known == types_.end()) types_.push_back(type);
  return index;
}

Program::BoundPhase Program::bind(const Selected& selected) {
  const Graph& graph = selected.graph();
  BoundPhase bound;
  bound.phase = selected.training.phase;
  bound.nodes.resize(static_cast<std::size_t>(graph.node_count()));
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    if (node.op->is_view) continue;
    const Choice& choice = selected.choice(NodeId{n});
    BoundNode& entry = bound.nodes[static_cast<std::size_t>(n)];
    entry.run = choice.kernel != nullptr ? choice.kernel->run : run_reference;
    entry.state = state_for(selected, NodeId{n});
    entry.first_type = static_cast<std::uint32_t>(bound.types.size());
    entry.input_count = static_cast<std::uint16_t>(node.inputs.size());
    entry.output_count = static_cast<std::uint16_t>(node.outputs.size());
    for (const ValueId value : node.inputs) bound.types.push_back(type_index(graph.value(value).type));
    for (const ValueId value : node.outputs) bound.types.push_back(type_index(graph.value(value).type));
    views_.resize(std::max(views_.size(), node.inputs.size() + node.outputs.size()));
  }
  bound.types.shrink_to_fit();
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    const Value& value = graph.value(ValueId{v});
    if (value.role == Role::input || value.role == Role::label)
      bound.inputs.push_back({value.name, ValueId{v}, value.type});
  }
  return bound;
}

int Program::phase_index(const Phase& phase) const {
  for (std::size_t p = 0; p < phases_.size(); ++p) {
    if (phases_[p].phase == phase && phases_[p].plan != nullptr) return static_cast<int>(p);
  }
  return -1;
}

// `around` is handed every step with its number and calls it.
template <typename Around>
Status Program::run_steps(const BoundPhase& phase, const RunScalars& scalars, Around around) const noexcept {
  const std::vector<std::uint32_t>& words = phase.plan->words;
  const std::uint64_t first_transfer = mover_ == nullptr ? 0 : mover_->started() + 1;
  std::size_t next_poison = 0;
  std::int32_t step = 0;
  for (std::size_t word = 0; word < words.size(); ++step) {
    Status status = Status::good;
    if (is_transfer(words[word])) {
      status = around(step, [&] { return run_transfer(*phase.plan, words[word], first_transfer); });
      ++word;
    } else {
      const BoundNode& node = phase.nodes[words[word++]];
      const std::size_t view_count = std::size_t{node.input_count} + node.output_count;
      for (std::size_t k = 0; k < view_count; ++k) {
        const Type& type = types_[phase.types[node.first_type + k]];
        views_[k] = {at(words[word++]), type.dtype, type.shape};
      }
      const std::uint32_t workspace = words[word++];
      const Call call{{views_.data(), node.input_count},
                      {views_.data() + node.input_count, node.output_count},
                      workspace == kNoWorkspace ? nullptr : at(workspace),
                      &scalars,
                      threads_};
      status = around(step, [&] { return node.run(*node.state, call); });
    }
    if (status != Status::good) return status;
    if (options_.poison) poison(*phase.plan, step, next_poison);
  }
  return Status::good;
}

Status Program::run(int index, const RunScalars& scalars) const noexcept {
  return run_steps(phases_[static_cast<std::size_t>(index)], scalars, [](std::int32_t, auto&& call) { return call(); });
}

Status Program::run_timed(int index, const RunScalars& scalars, std::span<double> seconds) const noexcept {
  using Clock = std::chrono::steady_clock;
  return run_steps(phases_[static_cast<std::size_t>(index)], scalars, [&](std::int32_t step, auto&& call) {
    const Clock::time_point begin = Clock::now();
    const Status status = call();
    seconds[static_cast<std::size_t>(step)] = std::chrono::duration<double>(Clock::now() - begin).count();
    return status;
  });
}

std::vector<NodeId> Program::steps(int index) const {
  const BoundPhase& phase = phases_[static_cast<std::size_t>(index)];
  std::vector<NodeId> nodes;
  for (std::size_t word = 0; word < phase.plan->words.size();) {
    const std::uint32_t first = phase.plan->words[word++];
    nodes.push_back(is_transfer(first) ? NodeId{} : NodeId{static_cast<std::int32_t>(first)});
    if (is_transfer(first)) continue;
    word += std::size_t{phase.nodes[first].input_count} + phase.nodes[first].output_count + 1;
  }
  return nodes;
}

// Transfers are numbered in the order of their starts, so the mover's number follows from the phase's first.
Status Program::run_transfer(const PackedPhase& plan, std::uint32_t word, std::uint64_t first) const noexcept {
  if (mover_ == nullptr) return Status::failed;  // never: a plan with transfers is not entered without
  const std::uint32_t index = word & kTransferIndex;
  if (is_wait(word)) return mover_->wait(first + index);
  const PackedTransfer& transfer = plan.transfers[index];
  mover_->start({transfer.direction,
                 {at(transfer.unit), static_cast<std::size_t>(transfer.bytes)},
                 static_cast<Bytes>(transfer.block) * kSpillBlock});
  return Status::good;
}

void Program::poison(const PackedPhase& plan, std::int32_t step, std::size_t& next) const noexcept {
  for (; next < plan.buffers.size() && plan.buffers[next].last_step <= step; ++next) {
    const Place& place = plan.buffers[next].place;
    std::memset(arena_.data() + place.offset, kPoisonByte, static_cast<std::size_t>(place.bytes));
  }
}

TensorView Program::input(int phase, std::string_view name) const {
  const BoundPhase& bound = phases_[static_cast<std::size_t>(phase)];
  for (const BoundInput& input : bound.inputs) {
    if (input.name != name) continue;
    for (const PackedInput& packed : bound.plan->inputs) {
      if (packed.value == input.value) return {at(packed.unit), input.type.dtype, input.type.shape};
    }
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

// Guards are checked for the first phase only: other phases lay their buffers elsewhere in the same arena.
template <typename Visit>
void Program::for_each_guard(Visit visit) const {
  if (phases_.empty() || phases_[0].plan == nullptr) return;
  for (const PackedPhase::Buffer& buffer : phases_[0].plan->buffers) {
    visit(Place{buffer.place.offset - options_.guard, options_.guard});
    visit(Place{round_up(buffer.place.end(), kPackedUnit), options_.guard});
  }
}

void Program::set_guards() {
  for_each_guard([&](const Place& guard) {
    std::memset(arena_.data() + guard.offset, static_cast<int>(kGuardByte), static_cast<std::size_t>(guard.bytes));
  });
}

int Program::damaged_guards() const noexcept {
  int damaged = 0;
  if (options_.guard == 0) return 0;
  for_each_guard([&](const Place& guard) {
    for (Bytes i = 0; i < guard.bytes; ++i) damaged += arena_.data()[guard.offset + i] != kGuardByte ? 1 : 0;
  });
  return damaged;
}

}  // namespace thimble
