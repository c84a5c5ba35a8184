#include <algorithm>

#include "compile/check_request.h"
#include "compile/named_front.h"
#include "compile/unbeaten.h"

namespace thimble {
namespace {

// Shares of the way from the smallest schedule to the one that keeps all, at which strategies are compared.
constexpr double kShares[] = {0.8, 0.6, 0.45, 0.3, 0.2, 0.1, 0.05, 0.0};
constexpr Recompute kNamed[] = {Recompute::chen, Recompute::block, Recompute::sage, Recompute::greedy};

std::optional<double> fastest_within(const std::vector<NamedPoint>& front, Bytes live_bytes) {
  for (const NamedPoint& point : front) {
    if (!point.choice.spills() && point.live_bytes <= live_bytes) return point.seconds;
  }
  return std::nullopt;
}

// Offload is another lever: here it is left out.
std::vector<StrategyRow> compare_strategies(const Stages& stages, CompileRequest request,
                                            const std::vector<NamedPoint>& front) {
  request.allowed.erase("offload");
  std::vector<std::vector<NamedPoint>> named;
  for (const Recompute family : kNamed) named.push_back(all_points(stages, request, family, Depth::whole));
  const Bytes most = front.front().live_bytes, least = evaluation_limit(front);
  const auto turns = static_cast<double>(stages.turn_count());
  std::vector<StrategyRow> rows;
  for (const double share : kShares) {
    const Bytes limit = least + static_cast<Bytes>(share * static_cast<double>(most - least));
    StrategyRow row{stages.persistent_bytes() + limit, turns * *fastest_within(front, limit), {}};
    for (std::size_t k = 0; k < named.size(); ++k) {
      const std::optional<double> seconds = fastest_within(named[k], limit);
      row.named.push_back({kNamed[k], seconds ? std::optional(turns * *seconds) : std::nullopt});
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Candidate {
  const Stages* stages = nullptr;
  NamedPoint point;
  Bytes bytes = 0;
  double seconds = 0;
};

std::vector<PointSummary> place(std::vector<Candidate> candidates) {
  keep_unbeaten(candidates, &Candidate::bytes, &Candidate::seconds);
  std::vector<PointSummary> points;
  points.reserve(candidates.size());
  for (const Candidate& c : candidates) points.push_back(c.stages->plan(c.point.choice, c.point.strategy).point);
  keep_unbeaten(points, &PointSummary::process_bytes, &PointSummary::seconds);
  return points;
}

// Both fronts in one list: those that need no leave, and those of the others that are worth it.
std::vector<PointSummary> merged(std::vector<PointSummary> points, const std::vector<PointSummary>& with_leave) {
  for (const PointSummary& point : with_leave) {
    const bool is_beaten = std::any_of(points.begin(), points.end(), [&](const PointSummary& other) {
      return other.process_bytes <= point.process_bytes && other.seconds <= point.seconds;
    });
    if (!is_beaten) points.push_back(point);
  }
  std::stable_sort(points.begin(), points.end(), [](const PointSummary& a, const PointSummary& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.process_bytes < b.process_bytes;
  });
  return points;
}

}  // namespace

Exploration explore(const CompileRequest& request, OpTable ops, KernelTable kernels) {
  check_request(request);
  const bool may_split = check_splitting(request, ops);
  Exploration result;
  std::vector<std::unique_ptr<Stages>> sizes;
  Fronts fronts(request, request.recompute, Depth::whole);
  std::vector<Candidate> free, with_leave;
  for (const std::int64_t size : microbatch_candidates(request, may_split)) {
    sizes.push_back(std::make_unique<Stages>(request, size, ops, kernels));
    Stages& stages = *sizes.back();
    Fronts::Front front = fronts.of(stages);
    if (sizes.size() == 1 && request.recompute == Recompute::automatic)
      result.rows = compare_strategies(stages, request, fronts.of_first());
    stages.add_coverage(result.coverage);
    const bool changes_result = stages.batch_coupled() && size < request.batch;
    for (NamedPoint& point : front.points) {
      const Bytes bytes = point.arena_bytes();
      const double seconds = point.seconds * static_cast<double>(stages.turn_count());
      (changes_result ? with_leave : free).push_back({&stages, std::move(point), bytes, seconds});
    }
  }
  result.points = merged(place(std::move(free)), place(std::move(with_leave)));
  return result;
}

}  // namespace thimble
