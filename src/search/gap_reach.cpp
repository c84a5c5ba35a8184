#include "search/gap_reach.h"

#include <algorithm>

#include "memory/place/request.h"

namespace thimble {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

}  // namespace

GapReach::GapReach(const Scheduler& scheduler, const MetGaps& met, const std::vector<Bytes>& live, Bytes target)
    : scheduler_(scheduler),
      target_(target),
      last_(static_cast<std::int32_t>(scheduler.order().size())),
      live_(at(last_) + 1, 0),
      waiting_(at(last_) + 1, 0) {
  for (std::size_t s = 0; s < live.size(); ++s) {
    Bytes& most = live_[at(met.base_steps[s])];
    most = std::max(most, live[s]);
  }
  const FlatGraph& graph = scheduler.flat();
  for (const MetGap& gap : met.gaps) {
    if (!gap.gap.is_held || gap.wanted >= last_) continue;
    const auto inputs = graph.inputs(graph.nodes[at(scheduler.order()[at(gap.wanted)].index)]);
    const bool is_read_anyway = std::find(inputs.begin(), inputs.end(), gap.gap.value.index) != inputs.end();
    if (!is_read_anyway) waiting_[at(gap.wanted)] += bytes_of(gap);
  }
}

bool GapReach::may_lower(const MetGap& met) const { return most_live(met.touched, met.wanted + 1) > target_; }

bool GapReach::may_fit(const MetGap& met) const {
  const Bytes leaves = met.wanted < last_ ? waiting_[at(met.wanted)] : bytes_of(met);
  return most_live(met.touched + 1, met.wanted) + bytes_of(met) - leaves <= target_;
}

Bytes GapReach::bytes_of(const MetGap& met) const {
  return round_up(scheduler_.flat().values[at(met.gap.value.index)].bytes, kAlignment);
}

Bytes GapReach::most_live(std::int32_t begin, std::int32_t end) const {
  return begin < end ? *std::max_element(live_.begin() + begin, live_.begin() + std::min(end, last_ + 1)) : 0;
}

}  // namespace thimble
