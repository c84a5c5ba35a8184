// The greedy way down from a state to a target of bytes.
#pragma once

#include <algorithm>
#include <vector>

#include "search/archive.h"

namespace thimble {

// Takes, again and again, the move that removes most excess for a second of extra time, until the target is met. False
// if it cannot be met this way, or `has_work()` ends it. A move changes little of what the others are worth: all of
// `moves(state)` are judged anew only once `patience` of them were taken, between that only those that seem best.
// `judge(state, move)` gives the evaluation that the state would have, `take(state, move)` changes it.
template <typename Moves, typename Judged, typename Take, typename HasWork>
bool descend_greedily(State& state, Bytes target, std::int64_t patience, const Moves& moves, const Judged& judge,
                      const Take& take, const HasWork& has_work) {
  struct Ranked {
    typename decltype(moves(state))::value_type move;
    double gain = 0;
    std::int64_t judged_at = 0;  // after so many moves

    bool operator<(const Ranked& other) const { return gain < other.gain; }
  };
  const auto gain_of = [&](const auto& move) {
    const Evaluation& trial = judge(state, move);
    const double removed = state.evaluation.excess(target) - trial.excess(target);
    return removed / std::max(trial.seconds - state.evaluation.seconds, 1e-7);
  };
  std::vector<Ranked> ranked;  // a heap
  std::int64_t taken = 0, judged_at = -patience;
  while (state.evaluation.peak > target) {
    if (!has_work()) return false;
    if (ranked.empty() || taken - judged_at >= patience) {
      if (taken == judged_at) return false;  // all were judged just now
      ranked.clear();
      for (const auto& move : moves(state)) {
        if (!has_work()) return false;
        if (const double gain = gain_of(move); gain > 0) ranked.push_back({move, gain, taken});
      }
      std::make_heap(ranked.begin(), ranked.end());
      judged_at = taken;
      continue;
    }
    std::pop_heap(ranked.begin(), ranked.end());
    Ranked& best = ranked.back();
    if (best.judged_at == taken) {
      take(state, best.move);
      ++taken;
      ranked.pop_back();
      continue;
    }
    best.gain = gain_of(best.move);
    best.judged_at = taken;
    best.gain > 0 ? std::push_heap(ranked.begin(), ranked.end()) : ranked.pop_back();
  }
  return true;
}

}  // namespace thimble
