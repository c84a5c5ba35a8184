#include "search/strategies.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "search/best_segments.h"
#include "search/dense_values.h"
#include "search/eviction.h"
#include "search/segments.h"

namespace thimble {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"auto", "none", "chen", "block", "sage", "greedy"};

Strategy cheap(const Scheduler& scheduler, const std::vector<ValueId>& large) {
  Strategy strategy{"cheap", Recompute::chen, {scheduler.keep_all()}};
  for (const ValueId value : large) {
    if (is_cheap(scheduler, value)) strategy.holding.mode(value) = Keep::transient;
  }
  return strategy;
}

std::vector<ValueId> large_of(const Scheduler& scheduler, const std::vector<ValueId>& candidates) {
  const Graph& graph = scheduler.selected().graph();
  Bytes largest = 0;
  for (const ValueId value : candidates) largest = std::max(largest, graph.value(value).type.bytes());
  std::vector<ValueId> large;
  for (const ValueId value : candidates) {
    const bool is_decided = graph.node(graph.value(value).producer).op->never_kept;
    if (!is_decided && graph.value(value).type.bytes() * 64 >= largest) large.push_back(value);
  }
  return large;
}

void add_second_passes(const Scheduler& scheduler, std::vector<Strategy>& strategies) {
  if (scheduler.waiting_gradients().empty()) return;
  for (std::size_t k = 0, count = strategies.size(); k < count; ++k) {
    Strategy twin{strategies[k].name + " second pass", strategies[k].family, strategies[k].holding};
    for (const ValueId value : scheduler.waiting_gradients()) twin.holding.mode(value) = Keep::retain;
    strategies.push_back(std::move(twin));
  }
}

}  // namespace

std::string_view name_of(Recompute recompute) {
  const auto index = static_cast<std::size_t>(recompute);
  return index < kNames.size() ? kNames[index] : std::string_view{};
}

Recompute recompute_from_name(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  require(found != kNames.end(), "recompute: found '", name, "', wanted auto, chen, block, sage, greedy or none");
  return static_cast<Recompute>(found - kNames.begin());
}

bool is_cheap(const Scheduler& scheduler, ValueId value) {
  const Graph& graph = scheduler.selected().graph();
  const NodeId producer = graph.value(value).producer;
  return scheduler.selected().choice(producer).flops < 16.0 * static_cast<double>(graph.value(value).type.bytes());
}

std::vector<ValueId> large_candidates(const Scheduler& scheduler) {
  return large_of(scheduler, scheduler.candidates());
}

std::vector<ValueId> large_values(const Scheduler& scheduler) {
  std::vector<ValueId> large = large_candidates(scheduler);
  const std::vector<ValueId> gradients = large_of(scheduler, scheduler.waiting_gradients());
  large.insert(large.end(), gradients.begin(), gradients.end());
  return large;
}

Holding tidied(const Scheduler& scheduler, const Holding& holding) {
  Holding result{holding.keep};
  for (const Gap& gap : scheduler.gaps(holding)) {
    if (holding.find(gap.value, gap.after) != nullptr) result.set(gap);
  }
  return result;
}

std::vector<Strategy> named_strategies(const Scheduler& scheduler, Recompute family) {
  std::vector<Strategy> strategies = {{"keep all", Recompute::none, {scheduler.keep_all()}}};
  const std::vector<ValueId> large = large_candidates(scheduler);
  if (large.empty() || family == Recompute::none) return strategies;
  const auto wants = [&](Recompute wanted) { return family == Recompute::automatic || family == wanted; };
  const auto add = [&](std::vector<Strategy> more) {
    for (Strategy& strategy : more) strategies.push_back(std::move(strategy));
  };
  if (wants(Recompute::chen)) strategies.push_back(cheap(scheduler, large));
  if (wants(Recompute::block)) add(block_strategies(scheduler, large));
  if (wants(Recompute::chen)) {
    add(chen_strategies(scheduler, large));
    add(recursive_strategies(scheduler, large));
  }
  if (family == Recompute::automatic) {
    add(best_segments(scheduler, large));
    add(dense_strategies(scheduler, large));
  }
  if (wants(Recompute::sage)) add(eviction_strategies(scheduler, large, Recompute::sage));
  if (wants(Recompute::greedy)) add(eviction_strategies(scheduler, large, Recompute::greedy));
  add_second_passes(scheduler, strategies);
  return strategies;
}

}  // namespace thimble
