#include "search/segments.h"

#include <algorithm>
#include <set>

#include "search/segment_tree.h"

namespace thimble {
namespace {

Holding all_retained(const Scheduler& scheduler, const std::vector<ValueId>& large) {
  Holding holding{scheduler.keep_all()};
  for (const ValueId value : large) holding.mode(value) = Keep::retain;
  return holding;
}

}  // namespace

std::vector<Strategy> block_strategies(const Scheduler& scheduler, const std::vector<ValueId>& large) {
  const ForwardPass pass(scheduler, large);
  std::vector<Strategy> strategies;
  for (const auto& [stride, cuts] : pass.even_cuts()) {
    Strategy strategy{"block " + std::to_string(stride), Recompute::block, all_retained(scheduler, large)};
    for (const ValueId cut : cuts) strategy.holding.mode(cut) = Keep::keep;
    Strategy lean{strategy.name + " cheap", Recompute::block, strategy.holding};
    for (const ValueId value : large) {
      Keep& mode = lean.holding.mode(value);
      if (mode == Keep::retain && is_cheap(scheduler, value)) mode = Keep::transient;
    }
    strategies.push_back(std::move(strategy));
    strategies.push_back(std::move(lean));
  }
  return strategies;
}

std::vector<Strategy> chen_strategies(const Scheduler& scheduler, const std::vector<ValueId>& large) {
  const Graph& graph = scheduler.selected().graph();
  const ForwardPass pass(scheduler, large);
  Bytes whole = 0;
  for (const ValueId value : large) whole += graph.value(value).type.bytes();
  std::vector<Strategy> strategies;
  std::set<std::vector<ValueId>> known;
  // Fine steps while segments are few, coarse ones later: the root of n is met within an eighth.
  for (std::int32_t parts = 1; parts <= pass.block_count(); parts += std::max(1, parts / 8)) {
    const Bytes limit = whole / parts;
    std::vector<ValueId> cuts;
    Bytes sum = 0;
    std::size_t next = 0;
    for (const ValueId value : large) {
      sum += graph.value(value).type.bytes();
      if (next == pass.separators().size() || pass.separators()[next] != value) continue;
      ++next;
      if (sum <= limit) continue;
      cuts.push_back(value);
      sum = 0;
    }
    if (!known.insert(cuts).second) continue;
    Strategy strategy{"chen " + std::to_string(parts), Recompute::chen, all_retained(scheduler, large)};
    for (const ValueId value : cuts) strategy.holding.mode(value) = Keep::keep;
    strategies.push_back(std::move(strategy));
  }
  return strategies;
}

std::vector<Strategy> recursive_strategies(const Scheduler& scheduler, const std::vector<ValueId>& large) {
  const ForwardPass pass(scheduler, large);
  std::vector<Strategy> strategies;
  for (std::int32_t leaf = 1; 2 * leaf <= pass.block_count(); leaf *= 2) {
    const Split halve = [leaf](const Segment& segment) -> Cut {
      if (segment.last - segment.first < leaf) return {};
      return {Cut::Kind::split, segment.first + (segment.last - segment.first) / 2};
    };
    strategies.push_back({"chen recursive " + std::to_string(leaf), Recompute::chen,
                          hold_by_segments(scheduler, large, pass, {}, halve)});
  }
  return strategies;
}

}  // namespace thimble
