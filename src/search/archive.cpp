#include "search/archive.h"

#include <algorithm>

namespace thimble {
namespace {

bool has_fewer(const FrontPoint& point, Bytes bytes) { return point.live_bytes < bytes; }

}  // namespace

void Archive::record(const Holding& holding, const Evaluation& e, const std::string& strategy) {
  if (!is_beaten(e.peak, e.seconds)) add({holding, e.peak, e.seconds, e.recompute_flops_ratio, strategy});
}

bool Archive::is_beaten(Bytes bytes, double seconds) const {
  const FrontPoint* within = fastest_within(bytes);
  return within != nullptr && within->seconds <= seconds;
}

void Archive::add(FrontPoint point) {
  if (is_beaten(point.live_bytes, point.seconds)) return;
  const auto first = std::lower_bound(points_.begin(), points_.end(), point.live_bytes, has_fewer);
  auto last = first;
  while (last != points_.end() && last->seconds >= point.seconds) ++last;
  const auto place = points_.erase(first, last);
  ++record_count_;
  points_.insert(place, std::move(point));
}

const FrontPoint* Archive::fastest_within(Bytes bytes) const {
  const auto above = std::lower_bound(points_.begin(), points_.end(), bytes + 1, has_fewer);
  return above == points_.begin() ? nullptr : &*std::prev(above);
}

}  // namespace thimble
