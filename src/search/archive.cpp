#include "search/archive.h"

#include <algorithm>

namespace thimble {
namespace {

bool has_fewer(const FrontPoint& point, Bytes bytes) { return point.live_bytes < bytes; }

}  // namespace

void Archive::record(const Holding& holding, const Evaluation& e, const std::string& strategy) {
  const auto after = std::lower_bound(points_.begin(), points_.end(), e.peak, has_fewer);
  if (after != points_.end() && after->live_bytes == e.peak && after->seconds <= e.seconds) return;
  if (after != points_.begin() && std::prev(after)->seconds <= e.seconds) return;
  auto last = after;
  while (last != points_.end() && last->seconds >= e.seconds) ++last;
  const auto place = points_.erase(after, last);
  ++record_count_;
  points_.insert(place, {holding, e.peak, e.seconds, e.recompute_flops_ratio, strategy});
}

const FrontPoint* Archive::fastest_within(Bytes bytes) const {
  const auto above = std::lower_bound(points_.begin(), points_.end(), bytes + 1, has_fewer);
  return above == points_.begin() ? nullptr : &*std::prev(above);
}

const FrontPoint& Archive::next_above(Bytes bytes) const {
  const auto above = std::lower_bound(points_.begin(), points_.end(), bytes, has_fewer);
  return above == points_.end() ? points_.back() : *above;
}

}  // namespace thimble
