#include "schedule/schedule.h"

#include <algorithm>

#include "base/error.h"
#include "schedule/order.h"

namespace thimble {

bool Scheduler::is_cloneable(NodeId id) const {
  return id.is_valid() && flat_.nodes[static_cast<std::size_t>(id.index)].is_cloneable;
}

Scheduler::Scheduler(const Selected& selected) : selected_(&selected), flat_(selected), order_(order_nodes(selected)) {
  const Graph& graph = selected.graph();
  const ValueId loss = graph.find(kLoss);
  forward_count_ = static_cast<std::int32_t>(order_.size());
  if (loss.is_valid() && selected.training.phase.trains) {
    const auto place = std::find(order_.begin(), order_.end(), graph.value(loss).producer);
    forward_count_ = static_cast<std::int32_t>(place - order_.begin()) + 1;
  }
  const std::vector<bool> is_late = second_pass_nodes(graph);
  const auto is_early = [&](NodeId id) { return !is_late[static_cast<std::size_t>(id.index)]; };
  first_pass_count_ = static_cast<std::int32_t>(std::count_if(order_.begin(), order_.end(), is_early));
  ensure(std::is_partitioned(order_.begin(), order_.end(), is_early), "schedule: a step waits for the second pass");
  find_waiting_gradients();
  // A value may be dropped if some later step, or the recomputation of one, can want it back.
  for (std::int32_t s = 0; s < forward_count_; ++s) {
    const NodeId id = order_[static_cast<std::size_t>(s)];
    if (!is_cloneable(id)) continue;
    for (const ValueId output : graph.node(id).outputs) candidates_.push_back(output);
  }
  is_candidate_.assign(flat_.values.size(), false);
  for (const ValueId value : candidates_) is_candidate_[static_cast<std::size_t>(value.index)] = true;
}

void Scheduler::find_waiting_gradients() {
  const Graph& graph = selected_->graph();
  std::vector<bool> is_known(static_cast<std::size_t>(graph.value_count()), false);
  for (std::size_t s = static_cast<std::size_t>(first_pass_count_); s < order_.size(); ++s) {
    for (const ValueId input : graph.node(order_[s]).inputs) {
      const bool waits = graph.value(input).role == Role::gradient && is_cloneable(graph.value(input).producer);
      if (waits && !is_known[static_cast<std::size_t>(input.index)]) waiting_gradients_.push_back(input);
      is_known[static_cast<std::size_t>(input.index)] = true;
    }
  }
}

std::vector<Keep> Scheduler::keep_all() const {
  const Graph& graph = selected_->graph();
  std::vector<Keep> keep(static_cast<std::size_t>(graph.value_count()), Keep::keep);
  // Gradients on the way to those that wait are never wanted later, unless one of those is made again.
  for (std::int32_t v = 0; v < graph.value_count() && !waiting_gradients_.empty(); ++v) {
    const Value& value = graph.value(ValueId{v});
    if (value.role == Role::gradient && is_cloneable(value.producer)) keep[static_cast<std::size_t>(v)] = Keep::retain;
  }
  for (const ValueId value : waiting_gradients_) keep[static_cast<std::size_t>(value.index)] = Keep::keep;
  for (const ValueId value : candidates_) {
    if (graph.node(graph.value(value).producer).op->never_kept)
      keep[static_cast<std::size_t>(value.index)] = Keep::transient;
  }
  return keep;
}

PhaseSchedule Scheduler::make(std::span<const Keep> keep) const { return std::move(emitter().run(keep, {})); }

PhaseSchedule Scheduler::make(const Holding& holding) const {
  return std::move(emitter().run(holding.keep, holding.gaps));
}

std::vector<Gap> Scheduler::gaps(const Holding& holding) const {
  const MetGaps met = met_gaps(holding);
  std::vector<Gap> gaps(met.gaps.size());
  std::transform(met.gaps.begin(), met.gaps.end(), gaps.begin(), [](const MetGap& gap) { return gap.gap; });
  return gaps;
}

MetGaps Scheduler::met_gaps(const Holding& holding) const {
  MetGaps met;
  std::vector<MetGap>& seen = met.gaps;
  Emitter noting = emitter();
  noting.note_gaps(seen);
  const PhaseSchedule& schedule = noting.run(holding.keep, holding.gaps);
  std::erase_if(seen, [&](const MetGap& gap) { return !is_candidate_[static_cast<std::size_t>(gap.gap.value.index)]; });
  std::sort(seen.begin(), seen.end(), [](const MetGap& a, const MetGap& b) { return a.gap < b.gap; });
  met.base_steps.assign(schedule.steps.size(), static_cast<std::int32_t>(order_.size()));
  std::size_t base = 0, first = 0;
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    // Updates may have moved: they count with what they stand before.
    if (step.is_recompute || flat_.nodes[static_cast<std::size_t>(step.node.index)].is_update) continue;
    while (order_[base] != step.node) ++base;
    for (; first <= s; ++first) met.base_steps[first] = static_cast<std::int32_t>(base);
  }
  return met;
}

}  // namespace thimble
