#include "search/segments.h"

#include <algorithm>
#include <set>

namespace thimble {
namespace {

std::size_t index_of(ValueId value) { return static_cast<std::size_t>(value.index); }
std::size_t index_of(NodeId node) { return static_cast<std::size_t>(node.index); }

// Where the forward pass can be cut: at a *separator*, a value that is alone alive among the large ones when it has
// just been made. Block j ends with separator j; the last block follows the last separator.
class ForwardPass {
 public:
  ForwardPass(const Scheduler& scheduler, const std::vector<ValueId>& large)
      : graph_(scheduler.selected().graph()),
        scheduler_(scheduler),
        block_(static_cast<std::size_t>(graph_.value_count()), -1) {
    const std::vector<NodeId>& order = scheduler.order();
    std::vector<std::int32_t> place(static_cast<std::size_t>(graph_.node_count()));
    for (std::size_t s = 0; s < order.size(); ++s) place[index_of(order[s])] = static_cast<std::int32_t>(s);
    std::vector<std::int32_t> last_use(static_cast<std::size_t>(graph_.value_count()), 0);
    for (std::int32_t s = 0; s < scheduler.forward_count(); ++s) {
      for (const ValueId input : graph_.node(order[static_cast<std::size_t>(s)]).inputs) last_use[index_of(input)] = s;
    }
    // How many large values are alive just after each step.
    std::vector<std::int32_t> alive(order.size() + 1, 0);
    const auto made = [&](ValueId value) { return place[index_of(graph_.value(value).producer)]; };
    for (const ValueId value : large) {
      if (last_use[index_of(value)] <= made(value)) continue;
      ++alive[static_cast<std::size_t>(made(value))];
      --alive[static_cast<std::size_t>(last_use[index_of(value)])];
    }
    for (std::size_t s = 1; s < alive.size(); ++s) alive[s] += alive[s - 1];
    for (const ValueId value : large) {
      const std::int32_t others =
          alive[static_cast<std::size_t>(made(value))] - (last_use[index_of(value)] > made(value) ? 1 : 0);
      block_[index_of(value)] = static_cast<std::int32_t>(separators_.size());
      if (others == 0) separators_.push_back(value);
    }
  }

  const std::vector<ValueId>& separators() const { return separators_; }
  std::int32_t block_count() const { return static_cast<std::int32_t>(separators_.size()) + 1; }
  std::int32_t block_of(ValueId value) const { return block_[index_of(value)]; }

  // The steps of backward by the block whose values they read; one that reads none goes with the step before it.
  std::vector<std::vector<NodeId>> backward_by_block() const {
    std::vector<std::vector<NodeId>> steps(static_cast<std::size_t>(block_count()));
    std::int32_t block = block_count() - 1;
    for (std::size_t s = static_cast<std::size_t>(scheduler_.forward_count()); s < scheduler_.order().size(); ++s) {
      const NodeId node = scheduler_.order()[s];
      std::int32_t read = -1;
      for (const ValueId input : graph_.node(node).inputs) read = std::max(read, block_[index_of(input)]);
      if (read >= 0) block = read;
      steps[static_cast<std::size_t>(block)].push_back(node);
    }
    return steps;
  }

 private:
  const Graph& graph_;
  const Scheduler& scheduler_;
  std::vector<ValueId> separators_;
  std::vector<std::int32_t> block_;  // by value; -1: not a large one
};

Holding all_retained(const Scheduler& scheduler, const std::vector<ValueId>& large) {
  Holding holding{scheduler.keep_all()};
  for (const ValueId value : large) holding.mode(value) = Keep::retain;
  return holding;
}

// Makes the tree of segments and from it, for every value, what it is held for.
class Recursion {
 public:
  Recursion(const Scheduler& scheduler, const std::vector<ValueId>& large, const ForwardPass& pass)
      : scheduler_(scheduler), large_(large), pass_(pass), steps_(pass.backward_by_block()) {}

  Holding make(std::int32_t leaf) {
    leaf_ = leaf;
    held_to_.assign(static_cast<std::size_t>(pass_.block_count()), 0);
    inner_held_to_.assign(static_cast<std::size_t>(pass_.block_count()), 0);
    split(0, pass_.block_count() - 1);
    Holding holding{scheduler_.keep_all()};
    for (const ValueId value : large_) decide(holding, value);
    std::sort(holding.gaps.begin(), holding.gaps.end());
    return tidied(scheduler_, holding);
  }

 private:
  // Blocks first..last are gone through from the last to the first, starting from the separator before `first`.
  void split(std::int32_t first, std::int32_t last) {
    if (last - first < leaf_) {
      for (std::int32_t b = first; b <= last; ++b) {
        inner_held_to_[static_cast<std::size_t>(b)] = last;
        if (b < last) held_to_[static_cast<std::size_t>(b)] = last;
      }
      return;
    }
    const std::int32_t middle = first + (last - first) / 2;
    held_to_[static_cast<std::size_t>(middle)] = last;
    split(first, middle);
    split(middle + 1, last);
  }

  // A value is made again whenever backward enters a segment it is in; it is held only in the one it serves.
  void decide(Holding& holding, ValueId value) const {
    const std::int32_t block = pass_.block_of(value);
    const auto& separators = pass_.separators();
    const bool is_end =
        block < static_cast<std::int32_t>(separators.size()) && separators[static_cast<std::size_t>(block)] == value;
    const std::int32_t to = (is_end ? held_to_ : inner_held_to_)[static_cast<std::size_t>(block)];
    if (to == pass_.block_count() - 1) {  // wanted as soon as backward begins
      holding.mode(value) = Keep::keep;
      return;
    }
    holding.mode(value) = Keep::transient;
    for (std::int32_t b = block; b <= to; ++b) {
      for (const NodeId step : steps_[static_cast<std::size_t>(b)]) holding.gaps.push_back({value, step, true});
    }
  }

  const Scheduler& scheduler_;
  const std::vector<ValueId>& large_;
  const ForwardPass& pass_;
  std::vector<std::vector<NodeId>> steps_;
  std::int32_t leaf_ = 1;
  std::vector<std::int32_t> held_to_;        // by separator: the last block for whose backward it is held
  std::vector<std::int32_t> inner_held_to_;  // the same for the other values of a block
};

}  // namespace

std::vector<Strategy> block_strategies(const Scheduler& scheduler, const std::vector<ValueId>& large) {
  const ForwardPass pass(scheduler, large);
  const std::vector<ValueId>& cuts = pass.separators();
  std::vector<Strategy> strategies;
  for (const std::size_t stride : {1U, 2U, 3U, 4U, 6U, 8U}) {
    if (stride > 1 && stride >= cuts.size()) break;
    Strategy strategy{"block " + std::to_string(stride), Recompute::block, all_retained(scheduler, large)};
    for (std::size_t c = stride - 1; c < cuts.size(); c += stride) strategy.holding.mode(cuts[c]) = Keep::keep;
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
  Recursion recursion(scheduler, large, pass);
  std::vector<Strategy> strategies;
  for (std::int32_t leaf = 1; 2 * leaf <= pass.block_count(); leaf *= 2)
    strategies.push_back({"chen recursive " + std::to_string(leaf), Recompute::chen, recursion.make(leaf)});
  return strategies;
}

}  // namespace thimble
