#include "search/deep_search.h"

#include <algorithm>
#include <limits>

#include "search/descent.h"
#include "search/gap_moves.h"

namespace thimble {
namespace {

constexpr MostWork kMostWork{.steps = 20'000'000, .schedules = 40'000};
constexpr Bytes kLower = 64;           // a schedule is lowered by such a part, or more
constexpr std::size_t kPatience = 16;  // part of the changes that are made before all are judged anew
constexpr std::size_t kMostNear = 32;  // changes at a place that are tried with each other
constexpr std::int32_t kLittle = 16;   // steps of the order
constexpr int kGenerations = 3;

// What becomes of one gap, or of more with it.
struct Change {
  enum class Kind : std::uint8_t { drop, drop_with_origins, hold, hold_from_there_on, hold_instead };
  Gap gap;
  Kind kind = Kind::drop;
};

// A step of the order at which a target is exceeded, by itself or by what is made again for it.
struct Place {
  std::int32_t first = 0, last = 0;  // of the order: since the values made again were last in memory
  std::vector<ValueId> values;       // these, and what is made from them, here or elsewhere; sorted
  std::vector<Gap> held;             // over this step
};

class DeepSearch {
 public:
  DeepSearch(const Scheduler& scheduler, const std::vector<ValueId>& large, const BufferOptions& buffers,
             Archive& archive)
      : graph_(scheduler.selected().graph()), moves_(scheduler, large, buffers, archive, kMostWork.of(scheduler)) {}

  // By larger and larger changes, back to the smallest whenever one helped.
  void run(const Holding& start) {
    State state = moves_.judge(start);
    for (;;) {
      const Bytes target = state.evaluation.peak - state.evaluation.peak / kLower;
      while (!moves_.descend(state, target) && !descend_by_all(state, target)) {
        if (!unlock(state, target)) return;
      }
      State faster = state;
      moves_.hold_all(faster, faster.evaluation.peak);
    }
  }

 private:
  bool descend_by_all(State& state, Bytes target) {
    const auto changes = [&](const State& now) {
      std::vector<Change> all;
      for (const Gap& gap : moves_.gaps(now)) add_changes(all, gap);
      return all;
    };
    const auto judge_change = [&](const State& now, const Change& change) -> const Evaluation& {
      return moves_.judge_only(changed(now, change));
    };
    const auto take = [&](State& now, const Change& change) { now = moves_.judge(changed(now, change)); };
    const auto patience = static_cast<std::int64_t>(1 + changes(state).size() / kPatience);
    return descend_greedily(state, target, patience, changes, judge_change, take, [&] { return moves_.has_work(); });
  }

  static void add_changes(std::vector<Change>& changes, const Gap& gap) {
    using Kind = Change::Kind;
    changes.push_back({gap, gap.is_held ? Kind::drop : Kind::hold});
    changes.push_back({gap, gap.is_held ? Kind::drop_with_origins : Kind::hold_from_there_on});
    if (!gap.is_held) changes.push_back({gap, Kind::hold_instead});
  }

  Holding changed(const State& state, const Change& change) const {
    switch (change.kind) {
      case Change::Kind::drop: return GapMoves::dropped(state, change.gap);
      case Change::Kind::drop_with_origins: return dropped_with_origins(state, change.gap);
      case Change::Kind::hold: return moves_.held(state, change.gap, false);
      case Change::Kind::hold_from_there_on: return moves_.held(state, change.gap, true);
      case Change::Kind::hold_instead: return held_instead(state, change.gap);
    }
    return state.holding;
  }

  // Dropped, and so is what would then wait in its place to make it again.
  Holding dropped_with_origins(const State& state, const Gap& gap) const {
    const std::vector<Gap> before = moves_.gaps(state, true);
    State next{GapMoves::dropped(state, gap), {}};
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (const Gap& other : moves_.gaps(next, true)) {
        if (other.after != gap.after || std::binary_search(before.begin(), before.end(), other)) continue;
        next.holding.set({other.value, other.after, false});
        is_changed = true;
      }
    }
    return std::move(next.holding);
  }

  // Held in the place of what is held since then, or a little later, and can be made from it.
  Holding held_instead(const State& state, const Gap& gap) const {
    Holding holding = moves_.held(state, gap, true);
    for (const Gap& other : moves_.gaps(state, true)) {
      const std::int32_t later = moves_.place_of(other.after) - moves_.place_of(gap.after);
      if (later >= 0 && later <= kLittle && is_made_from(other.value, gap.value, kGenerations))
        holding.set({other.value, other.after, false});
    }
    return holding;
  }

  bool is_made_from(ValueId value, ValueId origin, int generations) const {
    const NodeId producer = graph_.value(value).producer;
    if (!producer.is_valid() || generations == 0) return false;
    const auto& inputs = graph_.node(producer).inputs;
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](ValueId input) { return input == origin || is_made_from(input, origin, generations - 1); });
  }

  // One change, or two at once, at one of the places where the target is exceeded; whether that helped at any.
  bool unlock(State& state, Bytes target) {
    const std::vector<Place> places = exceeding_places(state, target);
    const auto unlock_by = [&](bool (DeepSearch::*change)(State&, const Place&, Bytes)) {
      return std::any_of(places.begin(), places.end(),
                         [&](const Place& place) { return (this->*change)(state, place, target); });
    };
    return unlock_by(&DeepSearch::change_one) || unlock_by(&DeepSearch::drop_two) || unlock_by(&DeepSearch::change_two);
  }

  bool change_one(State& state, const Place& place, Bytes target) {
    std::vector<Change> changes = changes_near(state, place, std::numeric_limits<std::size_t>::max());
    for (const Gap& gap : place.held) changes.push_back({gap, Change::Kind::drop_with_origins});
    return try_any(state, state, changes, target);
  }

  bool drop_two(State& state, const Place& place, Bytes target) {
    std::vector<Change> drops;
    for (const Gap& gap : place.held) drops.push_back({gap, Change::Kind::drop_with_origins});
    return std::any_of(drops.begin(), drops.end(), [&](const Change& first) {
      return try_any(state, moves_.judge(changed(state, first)), drops, target);
    });
  }

  bool change_two(State& state, const Place& place, Bytes target) {
    const std::vector<Change> firsts = changes_near(state, place, kMostNear);
    return std::any_of(firsts.begin(), firsts.end(), [&](const Change& first) {
      const State between = moves_.judge(changed(state, first));
      return try_any(state, between, changes_near(between, place, kMostNear), target);
    });
  }

  // Takes the first of the changes to `base` that brings `state` nearer to the target; whether there was one.
  bool try_any(State& state, const State& base, const std::vector<Change>& changes, Bytes target) {
    const double excess = state.evaluation.excess(target);
    for (const Change& change : changes) {
      if (!moves_.has_work()) return false;
      Holding holding = changed(base, change);
      if (moves_.judge_only(holding).excess(target) >= excess) continue;
      state = moves_.judge(std::move(holding));
      return true;
    }
    return false;
  }

  // The latest first.
  std::vector<Change> changes_near(const State& state, const Place& place, std::size_t most) const {
    std::vector<Change> changes;
    for (const Gap& gap : moves_.gaps(state)) {
      const std::int32_t after = moves_.place_of(gap.after);
      const bool is_near = after >= place.first && after <= place.last;
      if (is_near && std::binary_search(place.values.begin(), place.values.end(), gap.value)) add_changes(changes, gap);
    }
    const auto key = [&](const Change& c) { return std::pair(moves_.place_of(c.gap.after), c.gap.value); };
    std::stable_sort(changes.begin(), changes.end(), [&](const Change& a, const Change& b) { return key(a) > key(b); });
    if (changes.size() > most) changes.resize(most);
    return changes;
  }

  std::vector<Place> exceeding_places(const State& state, Bytes target) const {
    const PhaseSchedule schedule = moves_.scheduler().make(state.holding);
    const std::vector<Gap> held = moves_.gaps(state, true), dropped = moves_.gaps(state, false);
    std::vector<Place> places;
    std::vector<ValueId> made;
    std::int32_t exceeding = -1;  // step of the schedule, if any since the last of the order
    for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
      const Step& step = schedule.steps[s];
      if (state.evaluation.live[s] > target) exceeding = static_cast<std::int32_t>(s);
      if (step.is_recompute) {
        for (const std::int32_t output : schedule.outputs(step))
          made.push_back(schedule.instances[static_cast<std::size_t>(output)].value);
        continue;
      }
      if (exceeding >= 0) {
        places.push_back(place_at(moves_.place_of(step.node), made, dropped));
        add_held(places.back(), schedule, exceeding, held);
      }
      made.clear();
      exceeding = -1;
    }
    return places;
  }

  Place place_at(std::int32_t step, const std::vector<ValueId>& made, const std::vector<Gap>& dropped) const {
    Place place{.first = step, .last = step, .values = made, .held = {}};
    std::vector<bool> is_made(static_cast<std::size_t>(graph_.value_count()), false);
    for (const ValueId value : made) {
      is_made[static_cast<std::size_t>(value.index)] = true;
      if (const Gap* gap = last_before(step, value, dropped))
        place.first = std::min(place.first, moves_.place_of(gap->after));
    }
    for (std::int32_t n = 0; n < graph_.node_count(); ++n) {
      const Node& node = graph_.node(NodeId{n});
      if (std::any_of(node.inputs.begin(), node.inputs.end(),
                      [&](ValueId input) { return is_made[static_cast<std::size_t>(input.index)]; }))
        place.values.insert(place.values.end(), node.outputs.begin(), node.outputs.end());
    }
    std::sort(place.values.begin(), place.values.end());
    return place;
  }

  void add_held(Place& place, const PhaseSchedule& schedule, std::int32_t exceeding,
                const std::vector<Gap>& held) const {
    for (const Instance& instance : schedule.instances) {
      if (instance.first_step >= exceeding || instance.last_step <= exceeding) continue;
      if (const Gap* gap = last_before(place.last, instance.value, held)) place.held.push_back(*gap);
    }
  }

  // The last gap of a value that begins before a step of the order; null if there is none. `gaps` are sorted by value.
  const Gap* last_before(std::int32_t step, ValueId value, const std::vector<Gap>& gaps) const {
    const Gap* last = nullptr;
    const auto first =
        std::lower_bound(gaps.begin(), gaps.end(), value, [](const Gap& gap, ValueId v) { return gap.value < v; });
    for (auto gap = first; gap != gaps.end() && gap->value == value; ++gap) {
      if (moves_.place_of(gap->after) >= step) continue;
      if (last == nullptr || moves_.place_of(gap->after) > moves_.place_of(last->after)) last = &*gap;
    }
    return last;
  }

  const Graph& graph_;
  GapMoves moves_;
};

}  // namespace

std::vector<FrontPoint> search_deeper(const Scheduler& scheduler, const std::vector<ValueId>& large,
                                      const FrontPoint& smallest, const BufferOptions& buffers) {
  Archive archive;
  DeepSearch(scheduler, large, buffers, archive).run(smallest.holding);
  std::vector<FrontPoint> points = archive.fastest_first();
  std::erase_if(points, [&](const FrontPoint& point) { return point.live_bytes >= smallest.live_bytes; });
  return points;
}

}  // namespace thimble
