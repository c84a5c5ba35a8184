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
      Stages stages(request_, smallest_size_, ops_, kernels_);
      stages.add_evaluation(smallest_evaluation_);
      Stages::Planned planned = stages.plan(smallest_.choice, smallest_.strategy);
      result.smallest_tensor_bytes = planned.point.arena_bytes;
      result.smallest_memory = planned.point.arena_bytes + planned.reserve.total();
      result.smallest_microbatch = planned.point.microbatch;
      result.smallest = stages.finish(std::move(planned));
    }
    add_reference_figures(best_ ? *result.compiled : *result.smallest, ops_);
    return result;
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
      all = all_points(*stages, request_, is_constrained() ? request_.recompute : Recompute::none);
      known_ = all;
    } else {
      all = transferred(*stages, request_, known_);
    }
    const Bytes evaluation = evaluation_limit(all);
    stages->add_evaluation(evaluation);
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
    if (!best_) note_smallest(size, evaluation, std::move(front.back()));
  }

  // Placed only if nothing fits; until then what is alive says enough, and its stages, made again if it comes to that,
  // do not lie beside those of the next size: a small arena with its reserve is hardly more than what planning holds.
  void note_smallest(std::int64_t size, Bytes evaluation, NamedPoint point) {
    if (smallest_size_ > 0 && point.arena_bytes() >= smallest_.arena_bytes()) return;
    smallest_evaluation_ = evaluation;
    smallest_ = std::move(point);
    smallest_size_ = size;
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
  Bytes smallest_evaluation_ = 0;   // what its evaluation may take
  std::int64_t smallest_size_ = 0;  // its microbatch
  std::shared_ptr<Stages> best_stages_;
};

}  // namespace

CompileResult compile(const CompileRequest& request, OpTable ops, KernelTable kernels) {
  return request.changing ? compile_ladder(request, ops, kernels) : Compiler(request, ops, kernels).run();
}

}  // namespace thimble
