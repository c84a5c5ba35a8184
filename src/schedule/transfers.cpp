#include "schedule/transfers.h"

#include <algorithm>

#include "base/error.h"
#include "schedule/transfer_steps.h"

namespace thimble {
namespace {

constexpr std::int32_t kNearSteps = 4;          // uses this near share one copy in the arena
constexpr Bytes kLeastBytes = 4 * kSpillBlock;  // what is smaller costs more to move than it saves

// Uses of one persistent value, near each other, through one copy in the arena.
struct Visit {
  std::int32_t slot = -1;
  std::int32_t first_step = 0;
  std::int32_t last_step = 0;
  std::int32_t last_write = -1;  // -1: only read
  std::int32_t loaded = -1;      // instance; -1: written before it is read
  std::int32_t written = -1;     // the instance that the last write made
};

// Turns the uses of spilled values into moves: loads with the step that wants them, stores with the step that ends
// them.
class MoveFinder {
 public:
  MoveFinder(const Selected& selected, const Offload& offload, PhaseSchedule& schedule)
      : graph_(selected.graph()), offload_(offload), schedule_(schedule) {}

  std::vector<Move> run() {
    find_activations();
    if (offload_.has_homes()) find_visits();
    return std::move(moves_);
  }

 private:
  Instance& instance(std::int32_t index) { return schedule_.instances[static_cast<std::size_t>(index)]; }

  std::int32_t add_slot(ValueId value, bool is_home) {
    schedule_.slots.push_back({.value = value, .is_home = is_home});
    return static_cast<std::int32_t>(schedule_.slots.size()) - 1;
  }

  void find_activations() {
    const std::size_t count = schedule_.instances.size();
    std::vector<std::int32_t> first_use(count, -1);
    for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
      for (const std::int32_t i : schedule_.inputs(schedule_.steps[s])) {
        if (first_use[static_cast<std::size_t>(i)] < 0)
          first_use[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(s);
      }
    }
    std::vector<std::int32_t> stored_in(count, -1);  // by instance: the slot; a second load shares the first one's
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t from = schedule_.instances[i].loaded_from;
      if (from < 0) continue;
      std::int32_t& slot = stored_in[static_cast<std::size_t>(from)];
      if (slot < 0) {
        slot = add_slot(schedule_.instances[i].value, false);
        moves_.push_back({.direction = Direction::store,
                          .instance = from,
                          .slot = slot,
                          .ready = instance(from).first_step + 1,
                          .held = instance(from).last_step + 1});
      }
      moves_.push_back({.direction = Direction::load,
                        .instance = static_cast<std::int32_t>(i),
                        .slot = slot,
                        .ready = 0,
                        .held = first_use[i]});
    }
  }

  void find_visits() {
    visit_of_.assign(static_cast<std::size_t>(graph_.value_count()), -1);
    slot_of_.assign(static_cast<std::size_t>(graph_.value_count()), -1);
    made_in_.assign(schedule_.instances.size(), -1);
    for (std::size_t s = 0; s < schedule_.steps.size(); ++s) {
      const Step& step = schedule_.steps[s];
      const std::int32_t outputs = step.first_operand + step.input_count;
      for (std::int32_t k = step.first_operand; k < outputs; ++k) read(static_cast<std::int32_t>(s), k);
      for (std::int32_t k = outputs; k < outputs + step.output_count; ++k) write(static_cast<std::int32_t>(s), k);
    }
    for (const Visit& visit : visits_) add_moves(visit);
  }

  std::int32_t& operand(std::int32_t k) { return schedule_.operands[static_cast<std::size_t>(k)]; }

  // The home of the operand's value; invalid if that is the arena.
  ValueId home_of(std::int32_t k) {
    const ValueId home = graph_.storage_of(instance(operand(k)).value);
    return offload_.homes[static_cast<std::size_t>(home.index)] ? home : ValueId{};
  }

  std::int32_t visit_at(ValueId home, std::int32_t step) {
    std::int32_t& current = visit_of_[static_cast<std::size_t>(home.index)];
    std::int32_t& slot = slot_of_[static_cast<std::size_t>(home.index)];
    if (slot < 0) slot = add_slot(home, true);
    if (current < 0 || step - visits_[static_cast<std::size_t>(current)].last_step > kNearSteps) {
      current = static_cast<std::int32_t>(visits_.size());
      visits_.push_back({.slot = slot, .first_step = step});
    }
    visits_[static_cast<std::size_t>(current)].last_step = step;
    return current;
  }

  void read(std::int32_t step, std::int32_t k) {
    const ValueId home = home_of(k);
    if (!home.is_valid()) return;
    const std::int32_t index = visit_at(home, step);
    if (made_in_[static_cast<std::size_t>(operand(k))] == index) return;
    Visit& visit = visits_[static_cast<std::size_t>(index)];
    if (visit.loaded < 0) {
      visit.loaded = static_cast<std::int32_t>(schedule_.instances.size());
      schedule_.instances.push_back({.value = instance(operand(k)).value, .is_copy = true});
      made_in_.push_back(index);
    }
    operand(k) = visit.loaded;
  }

  void write(std::int32_t step, std::int32_t k) {
    const ValueId home = home_of(k);
    if (!home.is_valid()) return;
    const std::int32_t index = visit_at(home, step);
    Visit& visit = visits_[static_cast<std::size_t>(index)];
    visit.last_write = step;
    visit.written = operand(k);
    instance(operand(k)).is_copy = true;
    made_in_[static_cast<std::size_t>(operand(k))] = index;
  }

  void add_moves(const Visit& visit) {
    if (visit.loaded >= 0) {
      moves_.push_back({.direction = Direction::load,
                        .instance = visit.loaded,
                        .slot = visit.slot,
                        .ready = 0,
                        .held = visit.first_step});
    }
    if (visit.last_write >= 0) {
      moves_.push_back({.direction = Direction::store,
                        .instance = visit.written,
                        .slot = visit.slot,
                        .ready = visit.last_write + 1,
                        .held = visit.last_step + 1});
    }
  }

  const Graph& graph_;
  const Offload& offload_;
  PhaseSchedule& schedule_;
  std::vector<Visit> visits_;
  std::vector<std::int32_t> visit_of_, slot_of_;  // by home: the latest
  std::vector<std::int32_t> made_in_;             // by instance: the visit that loads or writes it
  std::vector<Move> moves_;
};

}  // namespace

bool Offload::has_homes() const { return std::find(homes.begin(), homes.end(), true) != homes.end(); }

std::vector<bool> spillable_values(const Graph& graph) {
  std::vector<bool> spillable(static_cast<std::size_t>(graph.value_count()), false);
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    const Value& value = graph.value(ValueId{v});
    const bool has_role =
        value.role == Role::parameter || value.role == Role::optimizer || value.role == Role::accumulator;
    spillable[static_cast<std::size_t>(v)] = has_role && value.pool.empty() &&
                                             graph.storage_of(ValueId{v}) == ValueId{v} &&
                                             value.type.bytes() >= kLeastBytes;
  }
  // A view lies on what it shows: that one must stay where it is.
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    if (!node.op->is_view) continue;
    for (const ValueId input : node.inputs) spillable[static_cast<std::size_t>(graph.storage_of(input).index)] = false;
  }
  return spillable;
}

void add_transfers(const Selected& selected, const Offload& offload, PhaseSchedule& schedule) {
  const bool has_loads = std::any_of(schedule.instances.begin(), schedule.instances.end(),
                                     [](const Instance& instance) { return instance.loaded_from >= 0; });
  if (!has_loads && !offload.has_homes()) return;
  std::vector<Move> moves = MoveFinder(selected, offload, schedule).run();
  if (moves.empty()) return;
  place_moves(selected, offload, schedule, moves);
  insert_moves(schedule, moves);
  set_lifetimes(schedule);
  set_slot_lifetimes(schedule);
  schedule.seconds = simulated_seconds(selected, offload, schedule);
}

}  // namespace thimble
