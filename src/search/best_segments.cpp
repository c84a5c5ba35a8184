#include "search/best_segments.h"

#include <algorithm>
#include <limits>

#include "search/segment_tree.h"

namespace thimble {
namespace {

// The table has an entry for every segment and every amount of room in units; beyond so many blocks it would be too
// large, and splits elsewhere than in the middle gain little.
constexpr std::int32_t kMostBlocks = 48;
constexpr int kUnits = 32;

class BestSegments {
 public:
  BestSegments(const Scheduler& scheduler, const std::vector<ValueId>& large, const ForwardPass& pass, bool is_lean)
      : is_lean_(is_lean), count_(pass.block_count()), blocks_(static_cast<std::size_t>(count_)) {
    const Graph& graph = scheduler.selected().graph();
    Bytes whole = 0;
    for (const ValueId value : large) {
      Block& block = blocks_[static_cast<std::size_t>(pass.block_of(value))];
      const double seconds = scheduler.selected().choice(graph.value(value).producer).seconds;
      const Bytes bytes = graph.value(value).type.bytes();
      (pass.is_separator(value) ? block.end_seconds : block.inner_seconds) += seconds;
      (pass.is_separator(value) ? block.end_bytes : block.inner_bytes) += bytes;
      whole += bytes;
    }
    unit_ = std::max<Bytes>(whole / kUnits, 1);
    cells_.resize(static_cast<std::size_t>(2 * count_ * count_ * (kUnits + 1)));
    for (std::int32_t length = 1; length <= count_; ++length) {
      for (std::int32_t first = 0; first + length <= count_; ++first) fill(first, first + length - 1);
    }
  }

  Bytes unit() const { return unit_; }

  Cut cut(const Segment& segment) const {
    return cell(segment.last == count_ - 1, segment.first, segment.last, units_in(segment.room)).cut;
  }

 private:
  struct Block {
    double inner_seconds = 0, end_seconds = 0;  // to make its values, and its separator
    Bytes inner_bytes = 0, end_bytes = 0;
  };
  struct Cell {
    double seconds = 0;  // run again
    Cut cut;
  };

  std::int32_t units_in(Bytes room) const {
    return static_cast<std::int32_t>(std::clamp<Bytes>(room < 0 ? 0 : room / unit_, 0, kUnits));
  }
  // What is wanted is rounded to the nearest unit: the evaluation that follows knows the bytes.
  std::int32_t units_for(Bytes bytes) const { return static_cast<std::int32_t>((bytes + unit_ / 2) / unit_); }

  std::size_t place(bool is_last, std::int32_t first, std::int32_t last, std::int32_t units) const {
    return static_cast<std::size_t>((((is_last ? 1 : 0) * count_ + first) * count_ + last) * (kUnits + 1) + units);
  }
  const Cell& cell(bool is_last, std::int32_t first, std::int32_t last, std::int32_t units) const {
    return cells_[place(is_last, first, last, units)];
  }

  // The segment at the end of the network is gone through right after forward: what it holds was made there.
  void fill(std::int32_t first, std::int32_t last) {
    for (const bool is_last : {false, true}) {
      if (is_last && last != count_ - 1) continue;
      for (std::int32_t units = 0; units <= kUnits; ++units)
        cells_[place(is_last, first, last, units)] = best(is_last, first, last, units);
    }
  }

  Cell best(bool is_last, std::int32_t first, std::int32_t last, std::int32_t units) const {
    double run = 0;
    Bytes bytes = 0;
    for (std::int32_t b = first; b < last; ++b) {
      run += seconds_of(b);
      bytes += blocks_[static_cast<std::size_t>(b)].inner_bytes + blocks_[static_cast<std::size_t>(b)].end_bytes;
    }
    const Block& end = blocks_[static_cast<std::size_t>(last)];
    Cell found{std::numeric_limits<double>::infinity(), {}};
    if (units_for(bytes + end.inner_bytes) <= units || first == last)
      found.seconds = is_last ? 0 : run + end.inner_seconds;
    if (first == last) return found;
    // Lean, the separator before the peeled block is made for that block and again for its own.
    const double peeled =
        (is_last ? 0 : run + end.inner_seconds) + (is_lean_ ? run : 0) + cell(false, first, last - 1, units).seconds;
    if (peeled < found.seconds) found = {peeled, {Cut::Kind::peel, 0}};
    run = 0;
    for (std::int32_t at = first; at < last; ++at) {
      run += seconds_of(at);
      const std::int32_t left = units - units_for(blocks_[static_cast<std::size_t>(at)].end_bytes);
      if (left < 0) continue;
      const double sum =
          (is_last ? 0 : run) + cell(is_last, at + 1, last, left).seconds + cell(false, first, at, units).seconds;
      if (sum < found.seconds) found = {sum, {Cut::Kind::split, at}};
    }
    return found;
  }

  double seconds_of(std::int32_t block) const {
    return blocks_[static_cast<std::size_t>(block)].inner_seconds +
           blocks_[static_cast<std::size_t>(block)].end_seconds;
  }

  bool is_lean_;
  std::int32_t count_;
  std::vector<Block> blocks_;
  Bytes unit_ = 1;
  std::vector<Cell> cells_;  // by whether the segment ends the network, first, last, units of room
};

}  // namespace

std::vector<Strategy> best_segments(const Scheduler& scheduler, const std::vector<ValueId>& large) {
  const ForwardPass pass(scheduler, large);
  if (pass.block_count() > kMostBlocks) return {};
  std::vector<Strategy> strategies;
  const auto add = [&](bool is_planned_lean, bool is_lean, const char* name) {
    const BestSegments best(scheduler, large, pass, is_planned_lean);
    const Split split = [&](const Segment& segment) { return best.cut(segment); };
    for (int units = 1; units <= kUnits; ++units) {
      Holding holding = hold_by_segments(scheduler, large, pass, {units * best.unit(), is_lean}, split);
      if (!strategies.empty() && strategies.back().holding == holding) continue;
      strategies.push_back({name + std::to_string(units), Recompute::automatic, std::move(holding)});
    }
  };
  add(false, false, "segments ");
  add(false, true, "lean segments ");
  add(true, true, "lean segments, planned so, ");
  return strategies;
}

}  // namespace thimble
