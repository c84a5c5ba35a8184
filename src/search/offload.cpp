#include "search/offload.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "memory/make_plan.h"
#include "memory/place/request.h"
#include "search/evaluate.h"
#include "search/strategies.h"

namespace thimble {
namespace {

// First a coarse grid over all four, then finer steps round what is not beaten there.
constexpr int kBasePoints = 10;
constexpr int kHomeLevels = 32, kHomeStep = 4;
constexpr int kActivationLevels = 16, kActivationStep = 4;
constexpr int kAhead[] = {0, 1, 2, 4, 8, 16, 32};
constexpr int kAheadLevels = 6, kAheadStep = 2, kAheadMost = 4;  // the grid ends at 8 steps ahead
constexpr int kRefinements = 2;

// Loads and stores of all of a value in one phase: a parameter is read forward and backward and written, optimizer
// state and sums are read and written.
int transfers_of(Role role) { return role == Role::parameter ? 3 : 2; }

std::vector<ValueId> homes_by_worth(const Graph& graph) {
  std::vector<ValueId> homes;
  const std::vector<bool> is_spillable = spillable_values(graph);
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    if (is_spillable[static_cast<std::size_t>(v)]) homes.push_back(ValueId{v});
  }
  std::stable_sort(homes.begin(), homes.end(), [&](ValueId a, ValueId b) {
    const int cost_a = transfers_of(graph.value(a).role), cost_b = transfers_of(graph.value(b).role);
    return cost_a != cost_b ? cost_a < cost_b : graph.value(a).type.bytes() > graph.value(b).type.bytes();
  });
  return homes;
}

Bytes bytes_of(const Graph& graph, const std::vector<ValueId>& values) {
  Bytes bytes = 0;
  for (const ValueId value : values) bytes += graph.value(value).type.bytes();
  return bytes;
}

// One choice: on top of which recomputation, how much of either kind of value, and how far ahead.
struct Mix {
  int base = 0;  // of the front
  int homes = 0;
  int activations = 0;
  int ahead = 0;
};

class OffloadSearch {
 public:
  OffloadSearch(const Scheduler& scheduler, const std::vector<FrontPoint>& front, const OffloadOptions& options)
      : scheduler_(scheduler),
        graph_(scheduler.selected().graph()),
        front_(front),
        options_(options),
        judge_(scheduler, options.buffers),
        homes_(homes_by_worth(graph_)),
        large_(large_values(scheduler)) {}

  std::vector<OffloadPoint> run() {
    const int last = static_cast<int>(front_.size()) - 1;
    const int count = std::min(kBasePoints, last + 1);
    for (int k = 0; k < count; ++k) judge_grid(count == 1 ? 0 : k * last / (count - 1));
    Mix step{last / kBasePoints, kHomeStep, kActivationStep, kAheadStep};
    for (int round = 0; round < kRefinements; ++round) {
      step = {(step.base + 1) / 2, (step.homes + 1) / 2, (step.activations + 1) / 2, (step.ahead + 1) / 2};
      refine(step);
    }
    std::vector<OffloadPoint> points;
    points.reserve(archive_.size());
    for (Entry& entry : archive_) points.push_back(std::move(entry.point));
    return points;
  }

 private:
  struct Entry {
    Mix mix;
    OffloadPoint point;
  };

  void judge_grid(int base) {
    for (int homes = 0; homes <= kHomeLevels; homes += kHomeStep) {
      for (int activations = 0; activations <= kActivationLevels; activations += kActivationStep) {
        for (int ahead = 0; ahead <= kAheadMost; ahead += kAheadStep) judge({base, homes, activations, ahead});
      }
    }
  }

  // One step either way in each of the four.
  void refine(const Mix& step) {
    std::vector<Mix> centres;
    centres.reserve(archive_.size());
    for (const Entry& entry : archive_) centres.push_back(entry.mix);
    for (const Mix& centre : centres) {
      for (const int sign : {-1, 1}) {
        judge({centre.base + sign * step.base, centre.homes, centre.activations, centre.ahead});
        judge({centre.base, centre.homes + sign * step.homes, centre.activations, centre.ahead});
        judge({centre.base, centre.homes, centre.activations + sign * step.activations, centre.ahead});
        judge({centre.base, centre.homes, centre.activations, centre.ahead + sign * step.ahead});
      }
    }
  }

  // The first values whose bytes come to this share of all.
  std::vector<ValueId> share_of(std::vector<ValueId> values, int level, int levels) const {
    const Bytes wanted = bytes_of(graph_, values) * level / levels;
    std::size_t count = 0;
    for (Bytes bytes = 0; bytes < wanted; ++count) bytes += graph_.value(values[count]).type.bytes();
    values.resize(count);
    return values;
  }

  // What the base keeps, in forward order: the first wait longest for backward.
  std::vector<ValueId> kept_by(const FrontPoint& base) const {
    std::vector<ValueId> kept;
    for (const ValueId value : large_) {
      if (base.holding.mode(value) == Keep::keep) kept.push_back(value);
    }
    return kept;
  }

  static bool is_in_range(int level, std::size_t levels) { return level >= 0 && level <= static_cast<int>(levels); }

  void judge(const Mix& mix) {
    if (!is_in_range(mix.base, front_.size() - 1) || !is_in_range(mix.homes, kHomeLevels) ||
        !is_in_range(mix.activations, kActivationLevels) || !is_in_range(mix.ahead, kAheadLevels))
      return;
    const FrontPoint& base = front_[static_cast<std::size_t>(mix.base)];
    const std::vector<ValueId> homes = share_of(homes_, mix.homes, kHomeLevels);
    const std::vector<ValueId> spilled = share_of(kept_by(base), mix.activations, kActivationLevels);
    const bool spills = !homes.empty() || !spilled.empty();
    // Where values are few, several levels are the same.
    if (!spills || !known_.insert({mix.base, homes.size(), spilled.size(), mix.ahead}).second) return;
    OffloadPoint point{.holding = base.holding,
                       .offload = {.homes = std::vector<bool>(static_cast<std::size_t>(graph_.value_count()), false),
                                   .ahead = kAhead[mix.ahead],
                                   .bytes_per_second = options_.bytes_per_second},
                       .strategy = base.strategy + ", offload"};
    for (const ValueId home : homes) point.offload.homes[static_cast<std::size_t>(home.index)] = true;
    for (const ValueId value : spilled) point.holding.set_mode(value, Keep::spill);
    const Evaluation& evaluation = judge_(point.holding, point.offload);
    point.resident_bytes = resident_bytes(scheduler_, point.holding.keep, point.offload, options_.persistent_bytes);
    point.live_bytes = evaluation.peak;
    point.seconds = evaluation.seconds;
    record({mix, std::move(point)});
  }

  // What another point beats or equals in both is not kept: planning has to fit the budget too.
  void record(Entry entry) {
    const Bytes arena = entry.point.arena_bytes();
    const auto after = std::upper_bound(archive_.begin(), archive_.end(), entry.point.seconds,
                                        [](double seconds, const Entry& e) { return seconds < e.point.seconds; });
    if (after != archive_.begin() && std::prev(after)->point.arena_bytes() <= arena) return;
    auto first = after;
    if (first != archive_.begin() && std::prev(first)->point.seconds == entry.point.seconds) --first;
    auto last = after;
    while (last != archive_.end() && last->point.arena_bytes() >= arena) ++last;
    archive_.insert(archive_.erase(first, last), std::move(entry));
  }

  const Scheduler& scheduler_;
  const Graph& graph_;
  const std::vector<FrontPoint>& front_;
  const OffloadOptions& options_;
  Judge judge_;
  std::vector<ValueId> homes_;
  std::vector<ValueId> large_;
  std::set<std::tuple<int, std::size_t, std::size_t, int>> known_;  // judged: base, homes, activations, ahead
  std::vector<Entry> archive_;                                      // from fastest to smallest, none beaten
};

}  // namespace

std::vector<OffloadPoint> search_offload(const Scheduler& scheduler, const std::vector<FrontPoint>& front,
                                         const OffloadOptions& options) {
  return OffloadSearch(scheduler, front, options).run();
}

Bytes resident_bytes(const Scheduler& scheduler, std::span<const Keep> keep, const Offload& offload,
                     Bytes persistent_bytes) {
  const Graph& graph = scheduler.selected().graph();
  Bytes resident = persistent_bytes, largest = 0;
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    const auto index = static_cast<std::size_t>(v);
    const Bytes bytes = graph.value(ValueId{v}).type.bytes();
    const bool is_home = !offload.homes.empty() && offload.homes[index];
    if (is_home) resident -= round_up(bytes, kAlignment);
    if (is_home || keep[index] == Keep::spill) largest = std::max(largest, bytes);
  }
  return resident + staging_bytes(largest);
}

}  // namespace thimble
