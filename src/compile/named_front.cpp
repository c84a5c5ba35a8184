#include "compile/named_front.h"

#include <algorithm>
#include <limits>

#include "compile/unbeaten.h"
#include "search/evaluate.h"
#include "search/front.h"
#include "search/offload.h"

namespace thimble {
namespace {

// What the request's budget leaves for transients, or more.
Bytes budget_of(const Stages& stages, const CompileRequest& request) {
  Bytes arena = std::numeric_limits<Bytes>::max();
  if (request.tensor_memory) arena = *request.tensor_memory;
  if (request.memory) arena = std::min(arena, *request.memory - least_reserve(request, 0).total());
  return arena - stages.persistent_bytes();
}

// The choices of another microbatch, without those that spill, judged for this one.
std::vector<FrontPoint> judged_anew(const Stages& stages, const std::vector<NamedPoint>& known) {
  Judge judge(stages.busiest(), stages.buffers());
  std::vector<FrontPoint> points;
  for (const NamedPoint& point : known) {
    if (point.choice.spills()) continue;
    Holding holding = stages.on_busiest(point.choice.holding);
    const Evaluation& evaluation = judge(holding);
    points.push_back(
        {std::move(holding), evaluation.peak, evaluation.seconds, evaluation.recompute_flops_ratio, point.strategy});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const FrontPoint& a, const FrontPoint& b) { return a.seconds < b.seconds; });
  return points;
}

// The front itself and, where that is allowed, what offload makes of it.
std::vector<NamedPoint> with_offload(const Stages& stages, const CompileRequest& request,
                                     const std::vector<FrontPoint>& front) {
  const Bytes persistent = stages.persistent_bytes();
  std::vector<NamedPoint> points;
  points.reserve(front.size());
  for (const FrontPoint& point : front) {
    points.push_back(
        {{.holding = stages.by_name(point.holding)}, persistent, point.live_bytes, point.seconds, point.strategy});
  }
  if (!request.allowed.contains("offload")) return points;
  const OffloadOptions options{stages.buffers(), persistent, request.spill_bandwidth};
  for (OffloadPoint& point : search_offload(stages.busiest(), front, options)) {
    NamedChoice choice{stages.by_name(point.holding), stages.by_name(point.offload), point.offload.ahead};
    points.push_back({std::move(choice), point.resident_bytes, point.live_bytes, point.seconds, point.strategy});
  }
  return points;
}

}  // namespace

std::vector<NamedPoint> all_points(const Stages& stages, const CompileRequest& request, Recompute recompute,
                                   Depth depth) {
  SearchOptions options;
  options.recompute = recompute;
  options.buffers = stages.buffers();
  options.wanted_bytes = depth == Depth::whole ? 0 : budget_of(stages, request);
  return with_offload(stages, request, search_front(stages.busiest(), options));
}

Bytes evaluation_limit(const std::vector<NamedPoint>& points) {
  Bytes least = points.front().live_bytes;
  for (const NamedPoint& point : points) {
    if (!point.choice.spills()) least = std::min(least, point.live_bytes);
  }
  return least;
}

Fronts::Front Fronts::of(Stages& stages) {
  if (known_.empty()) {
    known_ = all_points(stages, request_, recompute_, depth_);
    is_whole_ = depth_ == Depth::whole || is_near_smallest(budget_of(stages, request_), evaluation_limit(known_));
    known_microbatch_ = stages.microbatch();
  }
  Front front;
  front.points =
      stages.microbatch() == known_microbatch_ ? known_ : with_offload(stages, request_, judged_anew(stages, known_));
  front.evaluation = evaluation_limit(front.points);
  stages.add_evaluation(front.evaluation);
  keep_unbeaten(front.points, &NamedPoint::arena_bytes, &NamedPoint::seconds);
  return front;
}

bool Fronts::deepen() {
  if (is_whole_) return false;
  depth_ = Depth::whole;
  known_.clear();
  return true;
}

}  // namespace thimble
