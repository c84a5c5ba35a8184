#include "search/dense_values.h"

#include <algorithm>

#include "search/segment_tree.h"

namespace thimble {
namespace {

constexpr Bytes kParts = 32;

class DenseValues {
 public:
  DenseValues(const Scheduler& scheduler, const std::vector<ValueId>& large)
      : scheduler_(scheduler), graph_(scheduler.selected().graph()), sorted_(large) {
    waits_anyway_.assign(static_cast<std::size_t>(graph_.value_count()), true);
    for (const ValueId value : scheduler.candidates()) waits_anyway_[index_of(value)] = false;
    for (std::size_t s = static_cast<std::size_t>(scheduler.forward_count()); s < scheduler.order().size(); ++s) {
      for (const ValueId input : graph_.node(scheduler.order()[s]).inputs) waits_anyway_[index_of(input)] = true;
    }
    std::stable_sort(sorted_.begin(), sorted_.end(), [&](ValueId a, ValueId b) { return density(a) < density(b); });
  }

  // A strategy for every part of the bytes; `cuts` stay, and what is cheap is made again as `cheap` says.
  void add(Keep cheap, const std::vector<ValueId>& cuts, const std::string& name,
           std::vector<Strategy>& strategies) const {
    Bytes all = 0, dropped = 0, part = 0;
    for (const ValueId value : sorted_) all += bytes_of(value);
    Holding holding{scheduler_.keep_all()};
    for (const ValueId value : sorted_) {
      if (stands_for_larger(value, holding) || std::find(cuts.begin(), cuts.end(), value) != cuts.end()) continue;
      holding.mode(value) = is_cheap(scheduler_, value) ? cheap : Keep::retain;
      dropped += bytes_of(value);
      if (dropped * kParts / all == part) continue;
      part = dropped * kParts / all;
      strategies.push_back({name + std::to_string(100 * part / kParts) + "%", Recompute::automatic, holding});
    }
  }

 private:
  static std::size_t index_of(ValueId value) { return static_cast<std::size_t>(value.index); }
  Bytes bytes_of(ValueId value) const { return graph_.value(value).type.bytes(); }

  double density(ValueId value) const {
    const double seconds = scheduler_.selected().choice(graph_.value(value).producer).seconds;
    return seconds / static_cast<double>(bytes_of(value));
  }

  // Whether a larger value, which nothing else keeps, would wait in its place.
  bool stands_for_larger(ValueId value, const Holding& holding) const {
    const auto& inputs = graph_.node(graph_.value(value).producer).inputs;
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
      return !waits_anyway_[index_of(input)] && holding.mode(input) == Keep::keep && bytes_of(input) > bytes_of(value);
    });
  }

  const Scheduler& scheduler_;
  const Graph& graph_;
  std::vector<ValueId> sorted_;     // those with the least time for a byte first
  std::vector<bool> waits_anyway_;  // by value: backward reads it, or it is always there
};

}  // namespace

std::vector<Strategy> dense_strategies(const Scheduler& scheduler, const std::vector<ValueId>& large) {
  const DenseValues values(scheduler, large);
  std::vector<Strategy> strategies;
  const auto add = [&](std::size_t stride, const std::vector<ValueId>& cuts) {
    const std::string name = "dense " + std::to_string(stride) + " ";
    values.add(Keep::retain, cuts, name, strategies);
    values.add(Keep::transient, cuts, name + "cheap ", strategies);
  };
  add(0, {});
  for (const auto& [stride, cuts] : ForwardPass(scheduler, large).even_cuts()) add(stride, cuts);
  return strategies;
}

}  // namespace thimble
