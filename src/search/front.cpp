#include "search/front.h"

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "search/archive.h"
#include "search/deep_search.h"
#include "search/descent.h"
#include "search/gap_search.h"

namespace thimble {
namespace {

constexpr std::uint64_t kKicks = 24;
constexpr std::uint64_t kKickedPairs = 4;

// Steps of all schedules that may be judged until the end of each stage, times work_scale(); judging one takes some
// thirty nanoseconds.
constexpr std::int64_t kDiveWork = 2'500'000, kDeepenWork = 2'850'000;

class FrontSearch {
 public:
  FrontSearch(const Scheduler& scheduler, const SearchOptions& options)
      : scheduler_(scheduler), options_(options), judge_(scheduler, options.buffers), large_(large_values(scheduler)) {}

  std::vector<FrontPoint> run() {
    std::vector<State> seeds;
    std::vector<Strategy> with_gaps;
    for (Strategy& strategy : named_strategies(scheduler_, options_.recompute)) {
      strategy_ = strategy.name;
      State state = judged(strategy.holding);
      if (is_seed(strategy)) seeds.push_back(std::move(state));
      if (!strategy.holding.gaps.empty()) with_gaps.push_back(std::move(strategy));
    }
    strategy_ = "search";
    const bool is_searched = !large_.empty() && options_.recompute == Recompute::automatic;
    if (is_searched) {
      search_modes(seeds);
      search_gaps(scheduler_, large_, with_gaps, options_.buffers, archive_);
    }
    // Only smaller ones are added, so that whether they were looked for changes nothing for a budget that did not ask.
    if (is_searched && is_near_smallest(options_.wanted_bytes, archive_.smallest().live_bytes)) {
      for (FrontPoint& point : search_deeper(scheduler_, large_, archive_.smallest(), options_.buffers))
        archive_.add(std::move(point));
    }
    return thinned(archive_.fastest_first());
  }

 private:
  // Without points that are hardly smaller than one before them (kFrontStep); the smallest stays.
  static std::vector<FrontPoint> thinned(std::vector<FrontPoint> points) {
    std::vector<FrontPoint> kept;
    for (std::size_t p = 0; p < points.size(); ++p) {
      const bool is_end = p == 0 || p + 1 == points.size();
      if (is_end || points[p].live_bytes <= kept.back().live_bytes - kept.back().live_bytes / kFrontStep)
        kept.push_back(std::move(points[p]));
    }
    return kept;
  }

  struct Move {
    ValueId value;
    Keep mode = Keep::keep;
  };

  void search_modes(const std::vector<State>& seeds) {
    const std::int64_t begun = judge_.work();
    const double scale = work_scale(scheduler_);
    const auto until = [&](std::int64_t work) {
      return begun + static_cast<std::int64_t>(scale * static_cast<double>(work));
    };
    most_work_ = until(kDiveWork);
    for (const State& seed : seeds) dive(seed);
    most_work_ = until(kDeepenWork);
    deepen(judged(archive_.smallest().holding));
    for (std::uint64_t turn = 0; turn < kKicks && has_work(); ++turn) kick(turn);
  }

  // Where the search starts from: schedules without exceptions. The others would only lead it to the same places.
  static bool is_seed(const Strategy& strategy) {
    return strategy.family == Recompute::none || strategy.family == Recompute::block || strategy.name == "cheap";
  }

  bool has_work() const { return judge_.work() < most_work_; }

  const Evaluation& judge(const Holding& holding) {
    const Evaluation& evaluation = judge_(holding);
    archive_.record(holding, evaluation, strategy_);
    return evaluation;
  }

  State judged(Holding holding) {
    State state{std::move(holding), {}};
    state.evaluation = judge(state.holding);
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
    for (std::uint64_t pair = 0; pair < kKickedPairs; ++pair) flip_two(holding, key, pair);
    State state = judged(std::move(holding));
    const Bytes target = archive_.smallest().live_bytes - archive_.smallest().live_bytes / 256;
    if (descend(state, target)) deepen(std::move(state));
  }

  // Random pairs of flips that bring the state nearer to the target; whether any did.
  bool flip_pairs(State& state, Bytes target, std::uint64_t salt) {
    const RandomKey key = random_key(1, RandomPurpose::test, salt);
    bool changed = false;
    double excess = state.evaluation.excess(target);
    for (std::uint64_t attempt = 0; attempt < 16 * large_.size() && has_work(); ++attempt) {
      Holding holding = state.holding;
      flip_two(holding, key, attempt);
      const Evaluation& trial = judge(holding);
      if (trial.excess(target) >= excess) continue;
      state = {std::move(holding), trial};
      excess = state.evaluation.excess(target);
      changed = true;
    }
    return changed;
  }

  void flip_two(Holding& holding, RandomKey key, std::uint64_t attempt) const {
    for (std::uint64_t part = 0; part < 2; ++part) {
      const ValueId value = large_[random_below(key, attempt * 4 + part, large_.size())];
      holding.set_mode(value, static_cast<Keep>(random_below(key, attempt * 4 + 2 + part, 3)));
    }
  }

  bool descend(State& state, Bytes target) {
    const auto moves = [&](const State& now) { return moves_of(now); };
    const auto judge_move = [&](State& now, const Move& move) -> const Evaluation& {
      return now.holding.mode(move.value) == move.mode ? now.evaluation : flipped(now, move.value, move.mode);
    };
    const auto take = [&](State& now, const Move& move) {
      now.holding.set_mode(move.value, move.mode);
      now.evaluation = judge(now.holding);
    };
    return descend_greedily(state, target, static_cast<std::int64_t>(1 + large_.size() / 8), moves, judge_move, take,
                            [&] { return has_work(); });
  }

  std::vector<Move> moves_of(const State& state) const {
    std::vector<Move> moves;
    for (const ValueId value : large_) {
      for (const Keep mode : {Keep::keep, Keep::retain, Keep::transient}) {
        const bool is_known = mode == Keep::transient && is_gradient(value);  // as good as retained
        if (!is_known && state.holding.mode(value) != mode) moves.push_back({value, mode});
      }
    }
    return moves;
  }

  bool is_gradient(ValueId value) const { return scheduler_.selected().graph().value(value).role == Role::gradient; }

  // What the state would be with one value in another mode.
  const Evaluation& flipped(State& state, ValueId value, Keep mode) {
    if (state.holding.gaps.empty()) {
      const Keep before = std::exchange(state.holding.mode(value), mode);
      const Evaluation& evaluation = judge(state.holding);
      state.holding.mode(value) = before;
      return evaluation;
    }
    Holding holding = state.holding;
    holding.set_mode(value, mode);
    return judge(holding);
  }

  const Scheduler& scheduler_;
  const SearchOptions& options_;
  Judge judge_;
  std::int64_t most_work_ = 0;
  std::vector<ValueId> large_;
  Archive archive_;
  std::string strategy_;
};

}  // namespace

bool is_near_smallest(Bytes wanted, Bytes smallest) {
  constexpr Bytes kNear = 4;  // part of the smallest schedule's bytes
  return wanted < smallest + smallest / kNear;
}

std::vector<FrontPoint> search_front(const Scheduler& scheduler, const SearchOptions& options) {
  return FrontSearch(scheduler, options).run();
}

}  // namespace thimble
