#include "search/offload.h"

#include <algorithm>

#include "memory/make_plan.h"
#include "memory/place/request.h"
#include "search/evaluate.h"
#include "search/strategies.h"

namespace thimble {
namespace {

constexpr std::size_t kBasePoints = 10;
constexpr int kHomeLevels = 8;
constexpr int kActivationLevels = 4;
constexpr int kAhead[] = {0, 2, 8};

// Loads and stores of all of a value in one phase: a parameter is read forward and backward and written, optimizer
// state and sums are read and written.
int transfers_of(Role role) { return role == Role::parameter ? 3 : 2; }

std::vector<ValueId> homes_by_worth(const Graph& graph) {
  std::vector<ValueId> homes;
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    if (may_spill(graph, ValueId{v})) homes.push_back(ValueId{v});
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

class OffloadSearch {
 public:
  OffloadSearch(const Scheduler& scheduler, const OffloadOptions& options)
      : scheduler_(scheduler),
        graph_(scheduler.selected().graph()),
        options_(options),
        homes_(homes_by_worth(graph_)),
        large_(large_candidates(scheduler)) {
    const std::vector<ValueId> gradients = large_gradients(scheduler);
    large_.insert(large_.end(), gradients.begin(), gradients.end());
  }

  std::vector<OffloadPoint> run(const std::vector<FrontPoint>& front) {
    const std::size_t count = std::min(kBasePoints, front.size());
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t index = count == 1 ? 0 : k * (front.size() - 1) / (count - 1);
      extend(front[index]);
    }
    return unbeaten();
  }

 private:
  // The first values whose bytes come to this share of all.
  std::vector<ValueId> share_of(const std::vector<ValueId>& values, int level, int levels) const {
    const Bytes wanted = bytes_of(graph_, values) * level / levels;
    std::vector<ValueId> taken;
    Bytes bytes = 0;
    for (const ValueId value : values) {
      if (bytes >= wanted) break;
      taken.push_back(value);
      bytes += graph_.value(value).type.bytes();
    }
    return taken;
  }

  void extend(const FrontPoint& base) {
    // Candidates are in forward order: the first wait longest for backward.
    std::vector<ValueId> kept;
    for (const ValueId value : large_) {
      if (base.keep[static_cast<std::size_t>(value.index)] == Keep::keep) kept.push_back(value);
    }
    for (int h = 0; h <= kHomeLevels; ++h) {
      Offload offload{.homes = {}, .ahead = 0, .bytes_per_second = options_.bytes_per_second};
      offload.homes.assign(static_cast<std::size_t>(graph_.value_count()), false);
      for (const ValueId home : share_of(homes_, h, kHomeLevels))
        offload.homes[static_cast<std::size_t>(home.index)] = true;
      for (int a = h == 0 ? 1 : 0; a <= kActivationLevels; ++a) {
        std::vector<Keep> keep = base.keep;
        for (const ValueId value : share_of(kept, a, kActivationLevels))
          keep[static_cast<std::size_t>(value.index)] = Keep::spill;
        for (const int ahead : kAhead) {
          offload.ahead = ahead;
          judge(keep, offload, base.strategy);
        }
      }
    }
  }

  void judge(const std::vector<Keep>& keep, const Offload& offload, const std::string& strategy) {
    const Evaluation evaluation = evaluate(scheduler_, keep, options_.buffers, offload);
    const Bytes resident = resident_bytes(scheduler_, keep, offload, options_.persistent_bytes);
    points_.push_back({keep, offload, resident, evaluation.peak, evaluation.seconds, strategy + ", offload"});
  }

  std::vector<OffloadPoint> unbeaten() {
    std::stable_sort(points_.begin(), points_.end(), [](const OffloadPoint& a, const OffloadPoint& b) {
      return a.seconds != b.seconds ? a.seconds < b.seconds : a.arena_bytes() < b.arena_bytes();
    });
    std::vector<OffloadPoint> front;
    for (OffloadPoint& point : points_) {
      if (front.empty() || point.arena_bytes() < front.back().arena_bytes()) front.push_back(std::move(point));
    }
    return front;
  }

  const Scheduler& scheduler_;
  const Graph& graph_;
  const OffloadOptions& options_;
  std::vector<ValueId> homes_;
  std::vector<ValueId> large_;
  std::vector<OffloadPoint> points_;
};

}  // namespace

std::vector<OffloadPoint> search_offload(const Scheduler& scheduler, const std::vector<FrontPoint>& front,
                                         const OffloadOptions& options) {
  return OffloadSearch(scheduler, options).run(front);
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
