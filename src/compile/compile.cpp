#include "compile/compile.h"

#include <algorithm>

#include "compile/check_request.h"
#include "compile/make_ladder.h"
#include "compile/named_front.h"
#include "compile/reference_figures.h"

namespace thimble {
namespace {

class Compiler {
 public:
  Compiler(const CompileRequest& request, OpTable ops, KernelTable kernels)
      : request_(request), ops_(ops), kernels_(kernels) {}

  CompileResult run() {
    check_request(request_);
    const bool may_split = check_splitting(request_, ops_);
    for (const std::int64_t size : microbatch_candidates(request_, may_split)) {
      if (best_ && !could_be_faster(size)) continue;
      consider(size);
    }
    CompileResult result;
    if (best_) {
      result.compiled = best_stages_->finish(std::move(*best_));
    } else {
      Stages::Planned planned = smallest_stages_->plan(smallest_.choice, smallest_.strategy);
      result.smallest_tensor_bytes = planned.point.arena_bytes;
      result.smallest_memory = planned.point.arena_bytes + planned.reserve.total();
      result.smallest_microbatch = planned.point.microbatch;
      result.smallest = smallest_stages_->finish(std::move(planned));
    }
    add_reference_figures(best_ ? *result.compiled : *result.smallest, ops_);
    return result;
  }

  std::vector<PointSummary> explore_points() {
    check_request(request_);
    check_splitting(request_, ops_);
    Stages stages(request_, request_.microbatch.value_or(request_.batch), ops_, kernels_);
    std::vector<NamedPoint> all = all_points(stages, request_, request_.recompute);
    stages.add_evaluation(evaluation_limit(all));
    const std::vector<NamedPoint> front = unbeaten(std::move(all));
    std::vector<PointSummary> points;
    points.reserve(front.size());
    for (const NamedPoint& point : front) points.push_back(stages.plan(point.choice, point.strategy).point);
    return points;
  }

 private:
  // A smaller microbatch repeats per-step costs more often; it can win only if the larger one had to recompute or wait.
  bool could_be_faster(std::int64_t) const {
    return best_->point.recompute_flops_ratio > 0 || best_->point.spill_bytes > 0;
  }

  void consider(std::int64_t size) {
    auto stages = std::make_shared<Stages>(request_, size, ops_, kernels_);
    std::vector<NamedPoint> all;
    if (known_.empty() || request_.microbatch) {
      // Without a budget the fastest point is the one that recomputes nothing: no search needed.
      all = all_points(*stages, request_, request_.recompute && is_constrained());
      known_ = all;
    } else {
      all = transferred(*stages, request_, known_);
    }
    stages->add_evaluation(evaluation_limit(all));
    std::vector<NamedPoint> front = unbeaten(std::move(all));
    for (const NamedPoint& point : front) {
      if (!may_fit(point)) continue;
      Stages::Planned planned = stages->plan(point.choice, point.strategy);
      if (!fits(planned)) continue;
      if (!best_ || planned.point.seconds < best_->point.seconds) {
        best_ = std::move(planned);
        best_stages_ = stages;
      }
      break;  // the front is sorted: whatever follows is slower
    }
    if (!best_) note_smallest(stages, std::move(front.back()));
  }

  // Placed only if nothing fits; until then what is alive says enough.
  void note_smallest(const std::shared_ptr<Stages>& stages, NamedPoint point) {
    if (smallest_stages_ && point.arena_bytes() >= smallest_.arena_bytes()) return;
    smallest_ = std::move(point);
    smallest_stages_ = stages;
  }

  bool is_constrained() const { return request_.memory || request_.tensor_memory; }

  bool fits(const Stages::Planned& planned) const { return fits(planned.point.arena_bytes, planned.reserve); }

  bool fits(Bytes arena, const Reserve& reserve) const {
    if (request_.tensor_memory && arena > *request_.tensor_memory) return false;
    return !request_.memory || arena + reserve.total() <= *request_.memory;
  }

  // A cheap test before a plan is made: live bytes bound the arena from below.
  bool may_fit(const NamedPoint& point) const {
    if (!is_constrained()) return true;
    const Bytes arena = point.arena_bytes();
    return fits(arena, predict_reserve(
                           {.target = request_.target, .arena_bytes = arena, .loading_bytes = request_.loading_bytes}));
  }

  const CompileRequest& request_;
  OpTable ops_;
  KernelTable kernels_;
  std::vector<NamedPoint> known_;
  std::optional<Stages::Planned> best_;
  NamedPoint smallest_;
  std::shared_ptr<Stages> best_stages_, smallest_stages_;
};

}  // namespace

CompileResult compile(const CompileRequest& request, OpTable ops, KernelTable kernels) {
  return request.changing ? compile_ladder(request, ops, kernels) : Compiler(request, ops, kernels).run();
}

std::vector<PointSummary> explore(const CompileRequest& request, OpTable ops, KernelTable kernels) {
  return Compiler(request, ops, kernels).explore_points();
}

}  // namespace thimble
