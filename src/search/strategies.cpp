#include "search/strategies.h"

#include <algorithm>

namespace thimble {
namespace {

// Forward values through which everything later flows: at some point of the forward order they alone are alive among
// the large ones.
std::vector<ValueId> separators(const Scheduler& scheduler, const std::vector<ValueId>& large) {
  const Graph& graph = scheduler.selected().graph();
  const std::vector<NodeId>& order = scheduler.order();
  std::vector<std::int32_t> place(static_cast<std::size_t>(graph.node_count()));
  for (std::size_t s = 0; s < order.size(); ++s)
    place[static_cast<std::size_t>(order[s].index)] = static_cast<std::int32_t>(s);
  const std::int32_t loss = place[static_cast<std::size_t>(graph.value(graph.find(kLoss)).producer.index)];
  struct Span {
    ValueId value;
    std::int32_t made, used;
  };
  std::vector<Span> spans;
  for (const ValueId value : large) {
    Span span{value, place[static_cast<std::size_t>(graph.value(value).producer.index)], 0};
    for (std::int32_t n = 0; n < graph.node_count(); ++n) {
      const std::vector<ValueId>& inputs = graph.node(NodeId{n}).inputs;
      const std::int32_t at = place[static_cast<std::size_t>(n)];
      if (at <= loss && std::find(inputs.begin(), inputs.end(), value) != inputs.end())
        span.used = std::max(span.used, at);
    }
    spans.push_back(span);
  }
  std::vector<ValueId> result;
  for (const Span& candidate : spans) {
    const bool alone = std::none_of(spans.begin(), spans.end(), [&](const Span& other) {
      return other.value != candidate.value && other.made <= candidate.made && other.used > candidate.made;
    });
    if (alone) result.push_back(candidate.value);
  }
  return result;
}

bool is_cheap(const Scheduler& scheduler, ValueId value) {
  const Graph& graph = scheduler.selected().graph();
  const NodeId producer = graph.value(value).producer;
  // Under sixteen operations a byte made, repeating costs little more than reading the value back would.
  return scheduler.selected().choice(producer).flops < 16.0 * static_cast<double>(graph.value(value).type.bytes());
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
    Strategy twin{strategies[k].name + " second pass", strategies[k].keep};
    for (const ValueId value : scheduler.waiting_gradients())
      twin.keep[static_cast<std::size_t>(value.index)] = Keep::retain;
    strategies.push_back(std::move(twin));
  }
}

}  // namespace

std::vector<ValueId> large_candidates(const Scheduler& scheduler) {
  return large_of(scheduler, scheduler.candidates());
}

std::vector<ValueId> large_gradients(const Scheduler& scheduler) {
  return large_of(scheduler, scheduler.waiting_gradients());
}

std::vector<Strategy> named_strategies(const Scheduler& scheduler) {
  const std::vector<ValueId> large = large_candidates(scheduler);
  std::vector<Strategy> strategies = {{"keep all", scheduler.keep_all()}, {"cheap", scheduler.keep_all()}};
  for (const ValueId value : large) {
    if (is_cheap(scheduler, value)) strategies[1].keep[static_cast<std::size_t>(value.index)] = Keep::transient;
  }
  const std::vector<ValueId> cuts = separators(scheduler, large);
  for (const std::size_t stride : {1U, 2U, 3U, 4U, 6U, 8U}) {
    if (stride > 1 && stride >= cuts.size()) break;
    Strategy strategy{"block " + std::to_string(stride), scheduler.keep_all()};
    for (const ValueId value : large) strategy.keep[static_cast<std::size_t>(value.index)] = Keep::retain;
    for (std::size_t c = stride - 1; c < cuts.size(); c += stride)
      strategy.keep[static_cast<std::size_t>(cuts[c].index)] = Keep::keep;
    Strategy lean{strategy.name + " cheap", strategy.keep};
    for (const ValueId value : large) {
      Keep& mode = lean.keep[static_cast<std::size_t>(value.index)];
      if (mode == Keep::retain && is_cheap(scheduler, value)) mode = Keep::transient;
    }
    strategies.push_back(std::move(strategy));
    strategies.push_back(std::move(lean));
  }
  add_second_passes(scheduler, strategies);
  return strategies;
}

}  // namespace thimble
