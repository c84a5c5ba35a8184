#include "search/front.h"

#include <algorithm>

#include "base/random.h"
#include "search/archive.h"
#include "search/gap_search.h"

namespace thimble {
namespace {

constexpr std::uint64_t kKicks = 24;
constexpr std::uint64_t kKickedPairs = 4;

class FrontSearch {
 public:
  FrontSearch(const Scheduler& scheduler, const SearchOptions& options)
      : scheduler_(scheduler), options_(options), large_(large_candidates(scheduler)) {
    const std::vector<ValueId> gradients = large_gradients(scheduler);
    large_.insert(large_.end(), gradients.begin(), gradients.end());
  }

  std::vector<FrontPoint> run() {
    std::vector<State> seeds;
    std::vector<Strategy> with_gaps;
    for (Strategy& strategy : named_strategies(scheduler_, options_.recompute)) {
      strategy_ = strategy.name;
      State state = judge(strategy.holding);
      if (is_seed(strategy)) seeds.push_back(std::move(state));
      if (!strategy.holding.gaps.empty()) with_gaps.push_back(std::move(strategy));
    }
    strategy_ = "search";
    if (!large_.empty() && options_.recompute == Recompute::automatic) {
      const Bytes top = seeds.front().evaluation.peak;
      for (const State& seed : seeds) dive(seed);
      for (int round = 0; round < options_.rounds; ++round) sweep(seeds, top, round);
      deepen(judge(archive_.smallest().holding));
      for (std::uint64_t turn = 0; turn < kKicks; ++turn) kick(turn);
      search_gaps(scheduler_, large_, with_gaps, options_.buffers, archive_);
    }
    return archive_.fastest_first();
  }

 private:
  // Where the search starts from: schedules without exceptions. The others would only lead it to the same places.
  static bool is_seed(const Strategy& strategy) {
    return strategy.family == Recompute::none || strategy.family == Recompute::block || strategy.name == "cheap";
  }

  State judge(Holding holding) {
    State state{std::move(holding), {}};
    state.evaluation = evaluate(scheduler_, state.holding, options_.buffers);
    archive_.record(state, strategy_);
    return state;
  }

  // As far down as single flips lead from one state, in steps of a thirty-second.
  void dive(State state) {
    for (;;) {
      const Bytes target = state.evaluation.peak - state.evaluation.peak / 32;
      if (!descend(state, target)) return;
    }
  }

  // Further down than single flips lead: small steps, and pairs of flips where those find nothing.
  void deepen(State state) {
    for (std::uint64_t turn = 0;; ++turn) {
      const Bytes target = state.evaluation.peak - state.evaluation.peak / 256;
      if (!descend(state, target) && !flip_pairs(state, target, turn)) return;
    }
  }

  // Leaves the smallest state by several flips at once and goes down again.
  void kick(std::uint64_t turn) {
    const RandomKey key = random_key(2, RandomPurpose::test, turn);
    Holding holding = archive_.smallest().holding;
    for (std::uint64_t pair = 0; pair < kKickedPairs; ++pair) holding = two_flips(std::move(holding), key, pair);
    State state = judge(std::move(holding));
    const Bytes target = archive_.smallest().live_bytes - archive_.smallest().live_bytes / 256;
    if (descend(state, target)) deepen(std::move(state));
  }

  // Random pairs of flips that bring the state nearer to the target; whether any did.
  bool flip_pairs(State& state, Bytes target, std::uint64_t salt) {
    const RandomKey key = random_key(1, RandomPurpose::test, salt);
    bool changed = false;
    for (std::uint64_t attempt = 0; attempt < 16 * large_.size(); ++attempt) {
      State trial = judge(two_flips(state.holding, key, attempt));
      if (trial.evaluation.excess(target) >= state.evaluation.excess(target)) continue;
      state = std::move(trial);
      changed = true;
    }
    return changed;
  }

  Holding two_flips(Holding holding, RandomKey key, std::uint64_t attempt) const {
    for (std::uint64_t part = 0; part < 2; ++part) {
      const ValueId value = large_[random_below(key, attempt * 4 + part, large_.size())];
      set_mode(holding, value, static_cast<Keep>(random_below(key, attempt * 4 + 2 + part, 3)));
    }
    return holding;
  }

  // From most bytes to fewest: each target starts from the best known state that is nearest above it.
  void sweep(const std::vector<State>& seeds, Bytes top, int round) {
    const Bytes bottom = archive_.smallest().live_bytes;
    for (int t = 0; t < options_.target_count; ++t) {
      const double fraction = static_cast<double>(t + 1) / options_.target_count;
      const Bytes target = top - static_cast<Bytes>(static_cast<double>(top - bottom) * fraction);
      State state = start_for(seeds, target, round + t);
      if (!descend(state, target)) break;
      improve(state, target, round * options_.target_count + t);
    }
  }

  State start_for(const std::vector<State>& seeds, Bytes target, int turn) {
    // Every fourth target starts from a named strategy, so that the search is not a prisoner of its own first path.
    if (turn % 4 == 3) {
      const State& seed = seeds[static_cast<std::size_t>(turn / 4) % seeds.size()];
      if (seed.evaluation.peak > target) return seed;
    }
    return judge(archive_.next_above(target).holding);
  }

  // Flips the value that removes most excess a second of extra time, until the target is met. False if it cannot be met
  // this way.
  bool descend(State& state, Bytes target) {
    while (state.evaluation.peak > target) {
      const double excess = state.evaluation.excess(target);
      double best_gain = 0;
      State best;
      for (const ValueId value : large_) {
        for (const Keep mode : {Keep::keep, Keep::retain, Keep::transient}) {
          const bool is_known = mode == Keep::transient && is_gradient(value);  // as good as retained
          if (is_known || state.holding.mode(value) == mode) continue;
          State trial = flipped(state, value, mode);
          const double removed = excess - trial.evaluation.excess(target);
          if (removed <= 0) continue;
          const double extra = std::max(trial.evaluation.seconds - state.evaluation.seconds, 1e-7);
          if (removed / extra > best_gain) {
            best_gain = removed / extra;
            best = std::move(trial);
          }
        }
      }
      if (best_gain <= 0) return false;
      state = std::move(best);
    }
    return true;
  }

  bool is_gradient(ValueId value) const { return scheduler_.selected().graph().value(value).role == Role::gradient; }

  State flipped(const State& state, ValueId value, Keep mode) {
    Holding holding = state.holding;
    set_mode(holding, value, mode);
    return judge(std::move(holding));
  }

  // A mode of its own: earlier exceptions for the value were made for another.
  static void set_mode(Holding& holding, ValueId value, Keep mode) {
    holding.mode(value) = mode;
    if (!holding.gaps.empty()) holding.clear(value);
  }

  // Takes time back without leaving the target: single flips first, then random pairs (keep one, drop another).
  void improve(State& state, Bytes target, int salt) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const ValueId value : large_) {
        if (state.holding.mode(value) == Keep::keep) continue;
        for (const Keep mode : {Keep::keep, Keep::retain}) {
          if (state.holding.mode(value) == mode) continue;
          changed = accept(state, flipped(state, value, mode), target) || changed;
        }
      }
    }
    const RandomKey key = random_key(0, RandomPurpose::test, static_cast<std::uint64_t>(salt));
    for (std::uint64_t attempt = 0; attempt < 4 * large_.size(); ++attempt) {
      accept(state, judge(two_flips(state.holding, key, attempt)), target);
    }
  }

  static bool accept(State& state, State trial, Bytes target) {
    if (trial.evaluation.peak > target || trial.evaluation.seconds >= state.evaluation.seconds) return false;
    state = std::move(trial);
    return true;
  }

  const Scheduler& scheduler_;
  const SearchOptions& options_;
  std::vector<ValueId> large_;
  Archive archive_;
  std::string strategy_;
};

}  // namespace

std::vector<FrontPoint> search_front(const Scheduler& scheduler, const SearchOptions& options) {
  return FrontSearch(scheduler, options).run();
}

}  // namespace thimble
