#include "search/gap_moves.h"

#include <algorithm>

#include "search/descent.h"

namespace thimble {
namespace {

const std::string kName = "search";

}  // namespace

GapMoves::GapMoves(const Scheduler& scheduler, const std::vector<ValueId>& large, const BufferOptions& buffers,
                   Archive& archive, std::int64_t most_work)
    : scheduler_(scheduler),
      judge_(scheduler, buffers),
      archive_(archive),
      most_work_(most_work),
      is_large_(static_cast<std::size_t>(scheduler.selected().graph().value_count()), false),
      place_(static_cast<std::size_t>(scheduler.selected().graph().node_count())) {
  for (const ValueId value : large) is_large_[static_cast<std::size_t>(value.index)] = true;
  for (std::size_t s = 0; s < scheduler.order().size(); ++s)
    place_[static_cast<std::size_t>(scheduler.order()[s].index)] = static_cast<std::int32_t>(s);
}

State GapMoves::judge(Holding holding) {
  State state{std::move(holding), {}};
  state.evaluation = judge_only(state.holding);
  return state;
}

const Evaluation& GapMoves::judge_only(const Holding& holding) {
  const Evaluation& evaluation = judge_(holding);
  archive_.record(holding, evaluation, kName);
  return evaluation;
}

const std::vector<Gap>& GapMoves::gaps(const State& state) const {
  if (state.holding == noted_holding_) return noted_gaps_;
  noted_holding_ = state.holding;
  noted_met_ = scheduler_.met_gaps(state.holding);
  noted_ += static_cast<std::int64_t>(noted_met_.gaps.size());
  noted_gaps_.clear();
  for (const MetGap& met : noted_met_.gaps) {
    if (is_large(met.gap.value)) noted_gaps_.push_back(met.gap);
  }
  return noted_gaps_;
}

std::vector<Gap> GapMoves::gaps(const State& state, bool is_held) const {
  std::vector<Gap> wanted = gaps(state);
  std::erase_if(wanted, [&](const Gap& gap) { return gap.is_held != is_held; });
  return wanted;
}

Holding GapMoves::dropped(const State& state, const Gap& gap) {
  Holding holding = state.holding;
  holding.set({gap.value, gap.after, false});
  return holding;
}

Holding GapMoves::held(const State& state, const Gap& gap, bool from_there_on) const {
  Holding holding = state.holding;
  if (from_there_on && holding.mode(gap.value) != Keep::keep) {
    holding.set_mode(gap.value, Keep::retain);
    for (const Gap& other : gaps(state)) {
      const bool is_earlier = other.value == gap.value && place_of(other.after) < place_of(gap.after);
      if (is_earlier) holding.set(other);
    }
  }
  holding.set({gap.value, gap.after, true});
  return holding;
}

bool GapMoves::descend(State& state, Bytes target) {
  const auto droppable = [&](const State& now) { return promising_gaps(now, true, target); };
  const auto judge_drop = [&](const State& now, const Gap& gap) -> const Evaluation& {
    return judge_only(dropped(now, gap));
  };
  const auto take = [&](State& now, const Gap& gap) { now = judge(dropped(now, gap)); };
  return descend_greedily(state, target, 1, droppable, judge_drop, take, [&] { return has_work(); });
}

std::vector<Gap> GapMoves::promising_gaps(const State& state, bool is_held, Bytes target) const {
  gaps(state);
  const GapReach reach(scheduler_, noted_met_, state.evaluation.live, target);
  std::vector<Gap> promising;
  for (const MetGap& met : noted_met_.gaps) {
    if (met.gap.is_held != is_held || !is_large(met.gap.value)) continue;
    if (is_held ? reach.may_lower(met) : reach.may_fit(met)) promising.push_back(met.gap);
  }
  return promising;
}

bool GapMoves::has_later(const State& state, const Gap& gap) const {
  if (state.holding.mode(gap.value) == Keep::keep) return false;
  return std::any_of(gaps(state).begin(), gaps(state).end(), [&](const Gap& other) {
    return other.value == gap.value && place_of(other.after) > place_of(gap.after);
  });
}

bool GapMoves::hold_more(State& state, Bytes target, std::vector<Gap>& refused) {
  struct Saving {
    double seconds;
    Gap gap;
    bool from_there_on;
  };
  std::vector<Saving> savings;
  for (const Gap& gap : promising_gaps(state, false, target)) {
    if (std::find(refused.begin(), refused.end(), gap) != refused.end()) continue;
    const std::size_t before = savings.size();
    for (const bool from_there_on : {false, true}) {
      if (!has_work()) return false;
      if (from_there_on && !has_later(state, gap)) continue;
      const State trial = judge(held(state, gap, from_there_on));
      if (is_better(trial, state, target))
        savings.push_back({state.evaluation.seconds - trial.evaluation.seconds, gap, from_there_on});
      if (trial.evaluation.peak > target) break;  // what is held for longer needs no less
    }
    if (savings.size() == before) refused.push_back(gap);
  }
  std::stable_sort(savings.begin(), savings.end(),
                   [](const Saving& a, const Saving& b) { return a.seconds > b.seconds; });
  for (const Saving& saving : savings) {
    State trial = judge(held(state, saving.gap, saving.from_there_on));
    if (is_better(trial, state, target)) state = std::move(trial);
  }
  return !savings.empty();
}

void GapMoves::hold_all(State& state, Bytes target) {
  std::vector<Gap> refused;
  while (hold_more(state, target, refused)) {
  }
}

bool is_better(const State& trial, const State& state, Bytes target) {
  const bool is_faster = trial.evaluation.seconds < state.evaluation.seconds;
  return trial.evaluation.peak <= target && (is_faster || state.evaluation.peak > target);
}

}  // namespace thimble
