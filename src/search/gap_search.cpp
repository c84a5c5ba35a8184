#include "search/gap_search.h"

#include <algorithm>

#include "base/random.h"
#include "search/gap_moves.h"

namespace thimble {
namespace {

constexpr MostWork kMostWork{.steps = 12'500'000, .schedules = 160'000};
constexpr int kMostEffort = 2;  // 0: single gaps; 1: pairs of gaps; 2: whole values
constexpr int kDives = 4;       // steps down from a seed
constexpr std::uint64_t kKicks = 96, kChanges = 3;
constexpr Bytes kLower = 64;                                  // the smallest schedule is lowered by such a part
constexpr std::size_t kMostSwaps = 1024, kMostRebuilds = 64;  // tried before a state is left as it is

struct Visit {
  Bytes target = 0;
  double seconds = 0;  // of the best within the target, before
  int effort = 0;

  friend bool operator==(const Visit&, const Visit&) = default;
};

class GapSearch {
 public:
  GapSearch(const Scheduler& scheduler, const std::vector<ValueId>& large, const BufferOptions& buffers,
            Archive& archive)
      : archive_(archive), moves_(scheduler, large, buffers, archive, kMostWork.of(scheduler)) {}

  // A few steps down from a schedule, and at each what can be taken back there.
  void dive(const Holding& holding) {
    State state = moves_.judge(holding);
    for (int step = 0; step < kDives && moves_.work() < moves_.most_work() / 4; ++step) {
      if (!moves_.descend(state, state.evaluation.peak - 1)) return;
      State improved = state;
      take_time_back(improved, state.evaluation.peak, 0);
    }
  }

  // Each round looks at every step of the front, with larger changes than the last while nothing helps. A large graph
  // ends early: the smallest comes first, then whatever promises most.
  void run() {
    for (int effort = 0; effort <= kMostEffort && moves_.has_work();) {
      const std::int64_t found = archive_.record_count();
      const std::vector<FrontPoint> front = archive_.fastest_first();
      visit(front.back(), front.back().live_bytes - front.back().live_bytes / kLower, effort);
      while (moves_.has_work() && visit_most_promising(effort)) {
      }
      if (archive_.record_count() == found) ++effort;
    }
    for (std::uint64_t turn = 0; turn < kKicks && moves_.has_work(); ++turn) kick(turn);
  }

 private:
  // The step of the front that lies high above the front's hull, which says what its bytes should buy, and far from
  // others that were looked at. False if all were.
  bool visit_most_promising(int effort) {
    const std::vector<FrontPoint> front = archive_.fastest_first();
    const std::vector<double> hull = hull_seconds(front);
    const FrontPoint* best = nullptr;
    double most = -1;
    for (std::size_t p = 0; p + 1 < front.size(); ++p) {
      // What there is just below this step: the next one's time.
      const double promise = (front[p + 1].seconds / hull[p] - 1) * distance_to_visited(front[p].live_bytes, effort);
      if (promise > most && !was_visited({front[p].live_bytes - 1, front[p + 1].seconds, effort})) {
        most = promise;
        best = &front[p];
      }
    }
    if (best == nullptr) return false;
    visit(*best, best->live_bytes - 1, effort);
    return true;
  }

  // To the nearest that was looked at with as much effort, in parts of the smaller of both; at most 1.
  double distance_to_visited(Bytes bytes, int effort) const {
    double nearest = 1;
    for (const Visit& visit : visited_) {
      const auto [less, more] = std::minmax(bytes, visit.target);
      const double distance = static_cast<double>(more) / static_cast<double>(less) - 1;
      if (visit.effort == effort) nearest = std::min(nearest, distance);
    }
    return nearest;
  }

  // By point: the time of the lower convex hull of all at its bytes. The points come with falling bytes, rising time.
  static std::vector<double> hull_seconds(const std::vector<FrontPoint>& front) {
    const auto bytes = [&](std::size_t p) { return static_cast<double>(front[p].live_bytes); };
    const auto line = [&](std::size_t a, std::size_t b, std::size_t p) {
      const double share = (bytes(a) - bytes(p)) / (bytes(a) - bytes(b));
      return front[a].seconds + share * (front[b].seconds - front[a].seconds);
    };
    std::vector<std::size_t> corners;
    for (std::size_t p = 0; p < front.size(); ++p) {
      while (corners.size() > 1 &&
             line(corners[corners.size() - 2], p, corners.back()) <= front[corners.back()].seconds)
        corners.pop_back();
      corners.push_back(p);
    }
    std::vector<double> seconds(front.size());
    for (std::size_t p = 0, c = 0; p < front.size(); ++p) {
      while (c + 2 < corners.size() && corners[c + 1] <= p) ++c;
      seconds[p] = corners.size() == 1 ? front[p].seconds : line(corners[c], corners[c + 1], p);
    }
    return seconds;
  }

  bool was_visited(const Visit& key) const {
    return std::find(visited_.begin(), visited_.end(), key) != visited_.end();
  }

  // Looks for the best schedule just smaller than `point`: up from the next smaller one, and down from the point
  // itself.
  void visit(const FrontPoint& point, Bytes target, int effort) {
    const FrontPoint* within = archive_.fastest_within(target);
    const Visit key{target, within != nullptr ? within->seconds : 0, effort};
    if (was_visited(key)) return;
    visited_.push_back(key);
    if (within != nullptr) {
      State state = moves_.judge(within->holding);
      take_time_back(state, target, effort);
    }
    State above = moves_.judge(point.holding);
    if (moves_.descend(above, target))
      take_time_back(above, within != nullptr ? target : above.evaluation.peak, effort);
  }

  // Leaves a place of the front by a few changes at random and looks for a better way back to it.
  void kick(std::uint64_t turn) {
    const RandomKey key = random_key(5, RandomPurpose::test, turn);
    const std::vector<FrontPoint> front = archive_.fastest_first();
    // Small schedules have most to decide: they are left more often.
    const std::size_t a = random_below(key, 0, front.size()), b = random_below(key, 1, front.size());
    const std::size_t index = std::max(a, b);
    State state = moves_.judge(front[index].holding);
    for (std::uint64_t change = 0; change < kChanges; ++change) {
      const std::vector<Gap> gaps = moves_.gaps(state, random_below(key, 10 + 4 * change, 2) == 0);
      if (gaps.empty()) continue;
      const Gap& gap = gaps[random_below(key, 11 + 4 * change, gaps.size())];
      Holding holding = state.holding;
      if (gap.is_held && random_below(key, 12 + 4 * change, 2) == 0) {
        holding.set_mode(gap.value, Keep::transient);
      } else {
        holding = gap.is_held ? GapMoves::dropped(state, gap) : moves_.held(state, gap, true);
      }
      state = moves_.judge(std::move(holding));
    }
    const Bytes target = index == 0 ? front[index].live_bytes : front[index - 1].live_bytes - 1;
    if (moves_.descend(state, target)) take_time_back(state, target, 1);
  }

  State flipped(const State& state, std::initializer_list<Gap> gaps) {
    Holding holding = state.holding;
    for (const Gap& gap : gaps) holding.set({gap.value, gap.after, !gap.is_held});
    return moves_.judge(std::move(holding));
  }

  // Larger and larger changes, back to the smallest whenever one helped.
  void take_time_back(State& state, Bytes target, int effort) {
    std::vector<Gap> refused;
    while (moves_.has_work() && (moves_.hold_more(state, target, refused) || (effort > 0 && swap(state, target)) ||
                                 (effort > 1 && (rebuild(state, target, 1) || rebuild(state, target, 2))))) {
    }
  }

  // Holds one gap and drops another; whether that helped.
  bool swap(State& state, Bytes target) {
    const std::vector<Gap> dropped = moves_.gaps(state, false), held = moves_.gaps(state, true);
    const std::size_t pairs = dropped.size() * held.size();
    const RandomKey key = random_key(3, RandomPurpose::test, draws_++);
    for (std::size_t p = 0; p < std::min(pairs, kMostSwaps) && moves_.has_work(); ++p) {
      const std::size_t pair = pairs <= kMostSwaps ? p : random_below(key, p, pairs);
      State trial = flipped(state, {dropped[pair % dropped.size()], held[pair / dropped.size()]});
      if (!is_better(trial, state, target)) continue;
      state = std::move(trial);
      return true;
    }
    return false;
  }

  // Gives up what is held of one value or of two and holds anew what there is room for then; whether that helped.
  bool rebuild(State& state, Bytes target, std::size_t count) {
    const std::vector<ValueId> held = held_values(state);
    const RandomKey key = random_key(4, RandomPurpose::test, draws_++);
    for (std::size_t attempt = 0; attempt < std::min(count * held.size(), kMostRebuilds) && moves_.has_work();
         ++attempt) {
      Holding holding = state.holding;
      holding.set_mode(held[attempt % held.size()], Keep::transient);
      if (count == 2) holding.set_mode(held[random_below(key, attempt, held.size())], Keep::transient);
      State trial = moves_.judge(std::move(holding));
      moves_.hold_all(trial, target);
      if (!is_better(trial, state, target)) continue;
      state = std::move(trial);
      return true;
    }
    return false;
  }

  std::vector<ValueId> held_values(const State& state) const {
    std::vector<ValueId> values;
    for (const Gap& gap : moves_.gaps(state, true)) {
      if (moves_.place_of(gap.after) + 1 < moves_.scheduler().forward_count() &&
          state.holding.mode(gap.value) != Keep::keep)
        continue;
      if (values.empty() || values.back() != gap.value) values.push_back(gap.value);
    }
    return values;
  }

  Archive& archive_;
  GapMoves moves_;
  std::vector<Visit> visited_;
  std::uint64_t draws_ = 0;
};

}  // namespace

void search_gaps(const Scheduler& scheduler, const std::vector<ValueId>& large, const std::vector<Strategy>& seeds,
                 const BufferOptions& buffers, Archive& archive) {
  GapSearch search(scheduler, large, buffers, archive);
  for (const Strategy& seed : seeds) search.dive(seed.holding);
  search.run();
}

}  // namespace thimble
