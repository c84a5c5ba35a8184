#include "compile/named_front.h"

#include <algorithm>

#include "search/evaluate.h"
#include "search/front.h"

namespace thimble {

std::vector<NamedPoint> full_front(const Stages& stages, Recompute recompute) {
  SearchOptions options;
  options.recompute = recompute;
  options.buffers = stages.buffers();
  std::vector<NamedPoint> points;
  for (FrontPoint& point : search_front(stages.busiest(), options)) {
    points.push_back({stages.by_name(point.holding), point.live_bytes, point.seconds, std::move(point.strategy)});
  }
  return points;
}

std::vector<NamedPoint> transferred_front(const Stages& stages, const std::vector<NamedPoint>& known) {
  std::vector<NamedPoint> points;
  for (const NamedPoint& point : known) {
    const Evaluation evaluation = evaluate(stages.busiest(), stages.on_busiest(point.holding), stages.buffers());
    points.push_back({point.holding, evaluation.peak, evaluation.seconds, point.strategy});
  }
  std::stable_sort(points.begin(), points.end(), [](const NamedPoint& a, const NamedPoint& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.live_bytes < b.live_bytes;
  });
  std::vector<NamedPoint> front;
  for (NamedPoint& point : points) {
    if (front.empty() || point.live_bytes < front.back().live_bytes) front.push_back(std::move(point));
  }
  return front;
}

}  // namespace thimble
