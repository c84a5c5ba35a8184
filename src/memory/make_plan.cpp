#include "memory/make_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "memory/place/lower_bound.h"
#include "memory/place/place.h"

namespace thimble {
namespace {

// State first, then what is dead between iterations, and by name within each: state lies at the same place whatever the
// microbatch, so that a run may change it.
bool lies_below(const PersistentPlace& a, const PersistentPlace& b) {
  const auto is_brief = [](Role role) { return role == Role::accumulator || role == Role::metric; };
  return is_brief(a.role) != is_brief(b.role) ? is_brief(b.role) : a.name < b.name;
}

constexpr Bytes kMostStaging = 256 * kKiB;

// Names of the persistent values whose home is the spill file.
std::set<std::string> spilled_homes(std::span<const ScheduledPhase> phases) {
  std::set<std::string> names;
  for (const ScheduledPhase& phase : phases) {
    for (const SpillSlot& slot : phase.schedule->slots) {
      if (slot.is_home) names.insert(storage_name(phase.selected->graph(), slot.value));
    }
  }
  return names;
}

void place_staging(std::span<const ScheduledPhase> phases, const PlanOptions& options, PlanSet& set) {
  Bytes largest = options.shares_spill ? kMostStaging : 0;
  for (const ScheduledPhase& phase : phases) {
    for (const SpillSlot& slot : phase.schedule->slots)
      largest = std::max(largest, phase.selected->graph().value(slot.value).type.bytes());
  }
  set.staging = {0, staging_bytes(largest)};
  set.persistent_bytes = set.staging.bytes;
}

bool may_live_in_file(const PersistentPlace& persistent) {
  const Role role = persistent.role;
  const bool has_role = role == Role::parameter || role == Role::optimizer || role == Role::accumulator;
  return has_role && persistent.type.layout == Layout::dense;
}

// Every persistent storage of every phase, once.
void place_persistents(std::span<const ScheduledPhase> phases, const PlanOptions& options, PlanSet& set) {
  const std::set<std::string> spilled = spilled_homes(phases);
  std::map<std::string, std::size_t> known;
  for (const ScheduledPhase& phase : phases) {
    const Graph& graph = phase.selected->graph();
    for (std::int32_t v = 0; v < graph.value_count(); ++v) {
      const Value& value = graph.value(ValueId{v});
      if (!is_persistent(value.role) || graph.storage_of(ValueId{v}) != ValueId{v}) continue;
      const std::string name = storage_name(graph, ValueId{v});
      const auto [entry, is_new] = known.emplace(name, set.persistents.size());
      if (is_new) {
        set.persistents.push_back({.name = name,
                                   .role = value.role,
                                   .type = value.type,
                                   .place = {0, value.type.bytes()},
                                   .space = spilled.contains(name) ? Space::spill : Space::arena});
      } else {
        ensure(set.persistents[entry->second].type == value.type, "plan: '", name,
               "' has two types: ", to_text(set.persistents[entry->second].type), " and ", to_text(value.type));
      }
    }
  }
  std::sort(set.persistents.begin(), set.persistents.end(), lies_below);
  for (PersistentPlace& persistent : set.persistents) {
    const bool is_spilled = persistent.space == Space::spill;
    persistent.place.offset = is_spilled ? set.spill_bytes : set.persistent_bytes;
    const bool has_room = is_spilled || (options.shares_spill && may_live_in_file(persistent));
    if (has_room) set.spill_bytes += round_up(persistent.place.bytes, kSpillBlock);
    if (!is_spilled) set.persistent_bytes += round_up(persistent.place.bytes, kAlignment);
  }
}

class PhasePlanner {
 public:
  PhasePlanner(const ScheduledPhase& phase, const PlanSet& set, const PlanOptions& options)
      : selected_(*phase.selected),
        graph_(selected_.graph()),
        schedule_(*phase.schedule),
        set_(set),
        options_(options) {
    buffers_ = make_buffers(selected_, schedule_, options_.buffers);
    const Bytes guard = round_up(options_.guard, kAlignment);
    for (const Buffer& buffer : buffers_.buffers) {
      requests_.push_back({buffer.bytes + 2 * guard, buffer.first_step, buffer.last_step});
    }
  }

  Bytes bound() const { return lower_bound(requests_); }

  // `enough`: bytes that another phase needs anyway, so that this one need not be packed tighter.
  PhasePlan run(Bytes enough) {
    PhasePlan plan;
    plan.phase = selected_.training.phase;
    plan.seconds = schedule_.seconds;
    plan.flops = schedule_.flops;
    plan.recompute_flops = schedule_.recompute_flops;
    place_buffers(plan, enough);
    plan.transfers = plan_transfers();
    for (std::size_t s = 0; s < schedule_.steps.size(); ++s) plan.steps.push_back(plan_step(s));
    list_buffers(plan);
    for (std::size_t i = 0; i < schedule_.instances.size(); ++i) {
      const Value& value = graph_.value(schedule_.instances[i].value);
      if (value.role != Role::input && value.role != Role::label) continue;
      plan.inputs.push_back({schedule_.instances[i].value, place_of(static_cast<std::int32_t>(i))});
    }
    return plan;
  }

  Bytes spill_end() const { return spill_end_; }  // of this phase's activations

 private:
  void place_buffers(PhasePlan& plan, Bytes enough) {
    const Placement placement = place(requests_, enough);
    plan.transient_bytes = placement.bytes;
    plan.lower_bound = bound();
    const Bytes guard = round_up(options_.guard, kAlignment);
    for (std::size_t b = 0; b < requests_.size(); ++b) {
      places_.push_back({set_.persistent_bytes + placement.offsets[b] + guard, buffers_.buffers[b].bytes});
    }
  }

  // Activations lie behind the homes in the spill file, and on each other where they are not there at once. Placement
  // knows one alignment: bytes are counted in such units that it becomes a block.
  std::vector<Place> place_slots() {
    constexpr Bytes kUnit = kSpillBlock / kAlignment;
    std::vector<Request> requests;
    for (const SpillSlot& slot : schedule_.slots) {
      const Bytes bytes = slot.is_home ? 0 : round_up(bytes_of(slot), kSpillBlock);
      requests.push_back({bytes / kUnit, slot.first_step, slot.last_step});
    }
    const Placement placement = place(requests);
    spill_end_ = set_.spill_bytes + placement.bytes * kUnit;
    std::vector<Place> places;
    for (std::size_t i = 0; i < schedule_.slots.size(); ++i) {
      const SpillSlot& slot = schedule_.slots[i];
      if (slot.is_home) {
        places.push_back(set_.find(storage_name(graph_, slot.value))->place);
      } else {
        places.push_back({set_.spill_bytes + placement.offsets[i] * kUnit, bytes_of(slot)});
      }
    }
    return places;
  }

  Bytes bytes_of(const SpillSlot& slot) const { return graph_.value(slot.value).type.bytes(); }

  std::vector<PlannedTransfer> plan_transfers() {
    std::vector<PlannedTransfer> transfers;
    if (schedule_.transfers.empty()) return transfers;
    const std::vector<Place> slots = place_slots();
    for (const Transfer& transfer : schedule_.transfers) {
      transfers.push_back({.direction = transfer.direction,
                           .value = schedule_.instances[static_cast<std::size_t>(transfer.instance)].value,
                           .arena = place_of(transfer.instance),
                           .spill = slots[static_cast<std::size_t>(transfer.slot)]});
    }
    return transfers;
  }

  Place place_of(std::int32_t instance) const {
    const ValueId value = schedule_.instances[static_cast<std::size_t>(instance)].value;
    const Bytes bytes = graph_.value(value).type.bytes();
    const std::int32_t buffer = buffers_.buffer_of[static_cast<std::size_t>(instance)];
    if (buffer >= 0) return {places_[static_cast<std::size_t>(buffer)].offset, bytes};
    const PersistentPlace* persistent = set_.find(storage_name(graph_, storage_root(value)));
    ensure(persistent != nullptr && persistent->space == Space::arena, "plan: no storage in the arena for '",
           graph_.value(value).name, "'");
    return {persistent->place.offset, bytes};
  }

  // Through views of persistent values to the value that owns the storage.
  ValueId storage_root(ValueId value) const {
    for (;;) {
      value = graph_.storage_of(value);
      const NodeId producer = graph_.value(value).producer;
      if (!producer.is_valid() || !graph_.node(producer).op->is_view || is_persistent(graph_.value(value).role))
        return value;
      value = graph_.node(producer).inputs[0];
    }
  }

  PlannedStep plan_step(std::size_t s) const {
    const Step& step = schedule_.steps[s];
    PlannedStep planned{step.node, step.is_recompute, {}, {}, {}};
    if (step.kind != StepKind::run) {
      (step.kind == StepKind::start ? planned.starts : planned.waits) = step.transfer;
      return planned;
    }
    for (const std::int32_t i : schedule_.inputs(step)) planned.in.push_back(place_of(i));
    for (const std::int32_t i : schedule_.outputs(step)) planned.out.push_back(place_of(i));
    const std::int32_t workspace = buffers_.workspace_of[s];
    if (workspace >= 0) planned.workspace = places_[static_cast<std::size_t>(workspace)];
    return planned;
  }

  void list_buffers(PhasePlan& plan) const {
    for (std::size_t b = 0; b < buffers_.buffers.size(); ++b) {
      const Buffer& buffer = buffers_.buffers[b];
      PlannedBuffer planned{.name = "workspace",
                            .is_workspace = buffer.instance < 0,
                            .place = places_[b],
                            .first_step = buffer.first_step,
                            .last_step = buffer.last_step,
                            .values = {}};
      plan.buffers.push_back(std::move(planned));
    }
    for (std::size_t i = 0; i < schedule_.instances.size(); ++i) {
      const std::int32_t b = buffers_.buffer_of[i];
      if (b < 0) continue;
      PlannedBuffer& buffer = plan.buffers[static_cast<std::size_t>(b)];
      const Value& value = graph_.value(schedule_.instances[i].value);
      if (buffer.values.empty()) {
        buffer.name = value.name;
        buffer.role = value.role;
      }
      buffer.values.push_back(schedule_.instances[i].value);
    }
  }

  const Selected& selected_;
  const Graph& graph_;
  const PhaseSchedule& schedule_;
  const PlanSet& set_;
  const PlanOptions& options_;
  BufferSet buffers_;
  std::vector<Request> requests_;
  std::vector<Place> places_;
  Bytes spill_end_ = 0;
};

}  // namespace

// Room for the largest transfer, up to a size from which on larger pieces are no faster.
Bytes staging_bytes(Bytes largest) { return std::min(kMostStaging, round_up(largest, kSpillBlock)); }

const PersistentPlace* PlanSet::find(std::string_view name) const {
  for (const PersistentPlace& persistent : persistents) {
    if (persistent.name == name) return &persistent;
  }
  return nullptr;
}

std::string storage_name(const Graph& graph, ValueId value) {
  const Value& v = graph.value(value);
  return v.pool.empty() ? v.name : "pool/" + v.pool;
}

PlanSet make_plan_set(std::span<const ScheduledPhase> phases, const PlanOptions& options) {
  PlanSet set;
  place_staging(phases, options, set);
  place_persistents(phases, options, set);
  std::vector<PhasePlanner> planners;
  Bytes transient = 0, bound = 0;
  for (const ScheduledPhase& phase : phases) {
    planners.emplace_back(phase, set, options);
    bound = std::max(bound, planners.back().bound());
  }
  for (PhasePlanner& planner : planners) {
    set.phases.push_back(planner.run(std::max(bound, transient)));
    transient = std::max(transient, set.phases.back().transient_bytes);
  }
  const bool spills = std::any_of(phases.begin(), phases.end(),
                                  [](const ScheduledPhase& phase) { return !phase.schedule->slots.empty(); });
  if (!spills) set.spill_bytes = 0;  // room that this plan leaves to others
  for (const PhasePlanner& planner : planners) set.spill_bytes = std::max(set.spill_bytes, planner.spill_end());
  set.arena_bytes = set.persistent_bytes + transient;
  set.lower_bound_bytes = set.persistent_bytes + bound;
  return set;
}

}  // namespace thimble
