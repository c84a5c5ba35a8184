#include "search/segment_tree.h"

#include <algorithm>

#include "search/strategies.h"

namespace thimble {
namespace {

std::size_t index_of(ValueId value) { return static_cast<std::size_t>(value.index); }
std::size_t index_of(NodeId node) { return static_cast<std::size_t>(node.index); }

class SegmentTree {
 public:
  SegmentTree(const Scheduler& scheduler, const std::vector<ValueId>& large, const ForwardPass& pass,
              const Split& split)
      : scheduler_(scheduler),
        large_(large),
        pass_(pass),
        split_(split),
        held_to_(static_cast<std::size_t>(pass.block_count()), 0),
        inner_held_to_(static_cast<std::size_t>(pass.block_count()), 0) {}

  Holding run(const SegmentOptions& options) {
    is_lean_ = options.is_lean;
    divide({0, pass_.block_count() - 1, options.room});
    const std::vector<std::vector<NodeId>> steps = pass_.backward_by_block();
    Holding holding{scheduler_.keep_all()};
    for (const ValueId value : large_) decide(holding, value, steps);
    std::sort(holding.gaps.begin(), holding.gaps.end());
    return tidied(scheduler_, holding);
  }

 private:
  void divide(const Segment& segment) {
    const Cut cut = split_(segment);
    if (cut.kind == Cut::Kind::whole) {
      for (std::int32_t b = segment.first; b <= segment.last; ++b) {
        inner_held_to_[static_cast<std::size_t>(b)] = segment.last;
        if (b < segment.last) held_to_[static_cast<std::size_t>(b)] = segment.last;
      }
      return;
    }
    const std::int32_t at = cut.kind == Cut::Kind::peel ? segment.last - 1 : cut.at;
    const ValueId end = pass_.separators()[static_cast<std::size_t>(at)];
    const bool is_held = cut.kind == Cut::Kind::split;
    const Bytes taken = is_held ? scheduler_.selected().graph().value(end).type.bytes() : 0;
    held_to_[static_cast<std::size_t>(at)] = is_held ? segment.last : at;
    divide({segment.first, at, segment.room});
    divide({at + 1, segment.last, segment.room - taken});
  }

  // A value is made again whenever backward enters a segment it is in; it is held only in the one it serves.
  void decide(Holding& holding, ValueId value, const std::vector<std::vector<NodeId>>& steps) const {
    const std::int32_t block = pass_.block_of(value);
    const std::int32_t to = (pass_.is_separator(value) ? held_to_ : inner_held_to_)[static_cast<std::size_t>(block)];
    if (to == pass_.block_count() - 1) {  // wanted as soon as backward begins
      holding.mode(value) = Keep::keep;
      return;
    }
    holding.mode(value) = Keep::transient;
    if (is_lean_ && to == block) return;
    for (std::int32_t b = block; b <= to; ++b) {
      for (const NodeId step : steps[static_cast<std::size_t>(b)]) holding.gaps.push_back({value, step, true});
    }
  }

  const Scheduler& scheduler_;
  const std::vector<ValueId>& large_;
  const ForwardPass& pass_;
  const Split& split_;
  bool is_lean_ = false;
  std::vector<std::int32_t> held_to_;        // by separator: the last block for whose backward it is held
  std::vector<std::int32_t> inner_held_to_;  // the same for the other values of a block
};

}  // namespace

ForwardPass::ForwardPass(const Scheduler& scheduler, const std::vector<ValueId>& large)
    : scheduler_(scheduler), block_(static_cast<std::size_t>(scheduler.selected().graph().value_count()), -1) {
  const Graph& graph = scheduler.selected().graph();
  const std::vector<NodeId>& order = scheduler.order();
  std::vector<std::int32_t> place(static_cast<std::size_t>(graph.node_count()));
  for (std::size_t s = 0; s < order.size(); ++s) place[index_of(order[s])] = static_cast<std::int32_t>(s);
  std::vector<std::int32_t> last_use(static_cast<std::size_t>(graph.value_count()), 0);
  for (std::int32_t s = 0; s < scheduler.forward_count(); ++s) {
    for (const ValueId input : graph.node(order[static_cast<std::size_t>(s)]).inputs) last_use[index_of(input)] = s;
  }
  // How many large values are alive just after each step.
  std::vector<std::int32_t> alive(order.size() + 1, 0);
  const auto made = [&](ValueId value) { return place[index_of(graph.value(value).producer)]; };
  const auto is_read = [&](ValueId value) { return last_use[index_of(value)] > made(value); };
  for (const ValueId value : large) {
    if (!is_read(value)) continue;
    ++alive[static_cast<std::size_t>(made(value))];
    --alive[static_cast<std::size_t>(last_use[index_of(value)])];
  }
  for (std::size_t s = 1; s < alive.size(); ++s) alive[s] += alive[s - 1];
  for (const ValueId value : large) {
    block_[index_of(value)] = static_cast<std::int32_t>(separators_.size());
    const std::int32_t others = alive[static_cast<std::size_t>(made(value))] - (is_read(value) ? 1 : 0);
    if (others == 0) separators_.push_back(value);
  }
}

std::vector<ForwardPass::EvenCuts> ForwardPass::even_cuts() const {
  std::vector<EvenCuts> all;
  for (const std::size_t stride : {1U, 2U, 3U, 4U, 6U, 8U}) {
    if (stride > 1 && stride >= separators_.size()) break;
    EvenCuts even{stride, {}};
    for (std::size_t c = stride - 1; c < separators_.size(); c += stride) even.cuts.push_back(separators_[c]);
    all.push_back(std::move(even));
  }
  return all;
}

bool ForwardPass::is_separator(ValueId value) const {
  const auto block = static_cast<std::size_t>(block_of(value));
  return block < separators_.size() && separators_[block] == value;
}

std::vector<std::vector<NodeId>> ForwardPass::backward_by_block() const {
  const std::vector<NodeId>& order = scheduler_.order();
  std::vector<std::vector<NodeId>> steps(static_cast<std::size_t>(block_count()));
  std::int32_t block = block_count() - 1;
  for (auto s = static_cast<std::size_t>(scheduler_.forward_count()); s < order.size(); ++s) {
    std::int32_t read = -1;
    for (const ValueId input : scheduler_.selected().graph().node(order[s]).inputs)
      read = std::max(read, block_[index_of(input)]);
    if (read >= 0) block = read;
    steps[static_cast<std::size_t>(block)].push_back(order[s]);
  }
  return steps;
}

Holding hold_by_segments(const Scheduler& scheduler, const std::vector<ValueId>& large, const ForwardPass& pass,
                         const SegmentOptions& options, const Split& split) {
  return SegmentTree(scheduler, large, pass, split).run(options);
}

}  // namespace thimble
