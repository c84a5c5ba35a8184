#include "schedule/transfer_steps.h"

#include <algorithm>
#include <limits>

namespace thimble {
namespace {

Bytes bytes_of(const Graph& graph, const PhaseSchedule& schedule, std::int32_t instance) {
  return graph.value(schedule.instances[static_cast<std::size_t>(instance)].value).type.bytes();
}

class Placer {
 public:
  Placer(const Selected& selected, const Offload& offload, const PhaseSchedule& schedule, std::vector<Move>& moves)
      : graph_(selected.graph()), offload_(offload), schedule_(schedule), moves_(moves) {
    begin_.push_back(0);
    for (const Step& step : schedule.steps) begin_.push_back(begin_.back() + selected.choice(step.node).seconds);
    end_ = static_cast<std::int32_t>(schedule.steps.size());
  }

  void run() {
    find_neighbours();
    for (std::size_t m = 0; m < moves_.size(); ++m) {
      if (moves_[m].direction == Direction::store) place_store(moves_[m], next_[m]);
    }
    std::vector<std::size_t> loads;
    for (std::size_t m = 0; m < moves_.size(); ++m) {
      if (moves_[m].direction == Direction::load) loads.push_back(m);
    }
    std::stable_sort(loads.begin(), loads.end(),
                     [&](std::size_t a, std::size_t b) { return moves_[a].held > moves_[b].held; });
    for (const std::size_t m : loads) place_load(moves_[m], previous_[m]);
  }

 private:
  static std::int32_t order_key(const Move& move) { return move.direction == Direction::load ? move.held : move.ready; }

  // Moves of one slot come in the order of their steps: what each may not overtake.
  void find_neighbours() {
    previous_.assign(moves_.size(), -1);
    next_.assign(moves_.size(), -1);
    std::vector<std::int32_t> latest(schedule_.slots.size(), -1);
    std::vector<std::size_t> order(moves_.size());
    for (std::size_t m = 0; m < order.size(); ++m) order[m] = m;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return order_key(moves_[a]) < order_key(moves_[b]); });
    for (const std::size_t m : order) {
      std::int32_t& last = latest[static_cast<std::size_t>(moves_[m].slot)];
      previous_[m] = last;
      if (last >= 0) next_[static_cast<std::size_t>(last)] = static_cast<std::int32_t>(m);
      last = static_cast<std::int32_t>(m);
    }
  }

  double seconds_of(const Move& move) const {
    return static_cast<double>(bytes_of(graph_, schedule_, move.instance)) / offload_.bytes_per_second;
  }
  double begin(std::int32_t position) const { return begin_[static_cast<std::size_t>(position)]; }

  // Waited for once it is predicted to be done, and at once where the arena's end is wanted back soon.
  void place_store(Move& move, std::int32_t next) const {
    move.start = move.ready;
    const std::int32_t limit = next < 0 ? end_ : moves_[static_cast<std::size_t>(next)].held;
    const std::int32_t furthest = std::min(end_, move.start + offload_.ahead);
    const double done = begin(move.start) + seconds_of(move);
    move.wait = move.start;
    while (move.wait < furthest && begin(move.wait) < done) ++move.wait;
    if (offload_.ahead > 0) move.wait = std::max(move.wait, move.held);
    move.wait = std::max(move.start, std::min(move.wait, limit));
  }

  // Latest loads first: each should be done when the next one wants the thread.
  void place_load(Move& move, std::int32_t previous) {
    move.wait = move.held;
    std::int32_t earliest = 0;
    if (previous >= 0) {
      const Move& before = moves_[static_cast<std::size_t>(previous)];
      earliest = before.direction == Direction::load ? before.held : before.wait;
    }
    const std::int32_t furthest = std::max(earliest, move.wait - offload_.ahead);
    const double wanted = std::min(begin(move.wait), thread_wanted_) - seconds_of(move);
    move.start = move.wait;
    while (move.start > furthest && begin(move.start) > wanted) --move.start;
    thread_wanted_ = std::min(thread_wanted_, std::max(wanted, begin(move.start)));
  }

  const Graph& graph_;
  const Offload& offload_;
  const PhaseSchedule& schedule_;
  std::vector<Move>& moves_;
  std::vector<double> begin_;  // predicted, of each step and of the end
  std::int32_t end_ = 0;
  std::vector<std::int32_t> previous_, next_;  // by move: of the same slot; -1: none
  double thread_wanted_ = std::numeric_limits<double>::infinity();
};

struct Event {
  std::int32_t position = 0;
  int rank = 0;  // at one position: what frees the arena comes first, what fills it last
  StepKind kind = StepKind::start;
  std::int32_t move = -1;
};

std::vector<Event> events_of(const std::vector<Move>& moves) {
  std::vector<Event> events;
  for (std::size_t m = 0; m < moves.size(); ++m) {
    const Move& move = moves[m];
    const auto index = static_cast<std::int32_t>(m);
    if (move.direction == Direction::store) {
      events.push_back({move.start, 1, StepKind::start, index});
      events.push_back({move.wait, move.wait == move.start ? 2 : 0, StepKind::wait, index});
    } else {
      events.push_back({move.start, 3, StepKind::start, index});
      events.push_back({move.wait, 4, StepKind::wait, index});
    }
  }
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.position != b.position ? a.position < b.position : a.rank < b.rank;
  });
  return events;
}

}  // namespace

void place_moves(const Selected& selected, const Offload& offload, const PhaseSchedule& schedule,
                 std::vector<Move>& moves) {
  Placer(selected, offload, schedule, moves).run();
}

void insert_moves(PhaseSchedule& schedule, const std::vector<Move>& moves) {
  const std::vector<Step> runs = std::move(schedule.steps);
  schedule.steps.clear();
  schedule.steps.reserve(runs.size() + 2 * moves.size());
  std::vector<std::int32_t> transfer_of(moves.size(), -1);
  std::size_t next = 0;
  for (const Event& event : events_of(moves)) {
    while (next < static_cast<std::size_t>(event.position)) schedule.steps.push_back(runs[next++]);
    const Move& move = moves[static_cast<std::size_t>(event.move)];
    std::int32_t& transfer = transfer_of[static_cast<std::size_t>(event.move)];
    if (event.kind == StepKind::start) {
      transfer = static_cast<std::int32_t>(schedule.transfers.size());
      schedule.transfers.push_back({move.direction, move.instance, move.slot});
    }
    Step step{.node = {}, .kind = event.kind, .transfer = transfer};
    step.first_operand = static_cast<std::int32_t>(schedule.operands.size());
    const bool writes = event.kind == StepKind::start && move.direction == Direction::load;
    (writes ? step.output_count : step.input_count) = 1;
    schedule.operands.push_back(move.instance);
    schedule.steps.push_back(step);
  }
  while (next < runs.size()) schedule.steps.push_back(runs[next++]);
}

void set_slot_lifetimes(PhaseSchedule& schedule) {
  for (SpillSlot& slot : schedule.slots) slot.first_step = -1;
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    if (schedule.steps[s].kind == StepKind::run) continue;
    const Transfer& transfer = schedule.transfers[static_cast<std::size_t>(schedule.steps[s].transfer)];
    SpillSlot& slot = schedule.slots[static_cast<std::size_t>(transfer.slot)];
    if (slot.first_step < 0) slot.first_step = static_cast<std::int32_t>(s);
    slot.last_step = static_cast<std::int32_t>(s);
  }
}

double simulated_seconds(const Selected& selected, const Offload& offload, const PhaseSchedule& schedule) {
  double now = 0, thread_free = 0;
  std::vector<double> done(schedule.transfers.size(), 0);
  for (const Step& step : schedule.steps) {
    const auto transfer = static_cast<std::size_t>(step.transfer);
    switch (step.kind) {
      case StepKind::run: now += selected.choice(step.node).seconds; break;
      case StepKind::start: {
        const Bytes bytes = bytes_of(selected.graph(), schedule, schedule.transfers[transfer].instance);
        thread_free = std::max(thread_free, now) + static_cast<double>(bytes) / offload.bytes_per_second;
        done[transfer] = thread_free;
        break;
      }
      case StepKind::wait: now = std::max(now, done[transfer]); break;
    }
  }
  return now;
}

}  // namespace thimble
