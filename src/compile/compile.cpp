#include "compile/compile.h"

#include <algorithm>
#include <limits>

#include "base/run_apart.h"
#include "compile/check_request.h"
#include "compile/make_ladder.h"
#include "compile/named_front.h"
#include "compile/reference_figures.h"

namespace thimble {
namespace {

class Compiler {
 public:
  Compiler(const CompileRequest& request, OpTable ops, KernelTable kernels)
      : request_(request),
        ops_(ops),
        kernels_(kernels),
        // Without a budget the fastest point is the one that recomputes nothing: no search needed.
        fronts_(request, is_constrained() ? request.recompute : Recompute::none, Depth::as_asked) {}

  CompileResult run() {
    check_request(request_);
    const bool may_split = check_splitting(request_, ops_);
    const std::vector<std::int64_t> sizes = microbatch_candidates(request_, may_split);
    consider_all(sizes);
    if (!best_ && fronts_.deepen()) consider_all(sizes);
    CompileResult result;
    if (best_) {
      result.compiled = best_stages_->finish(std::move(*best_));
    } else {
      find_smallest(result);
    }
    add_reference_figures(best_ ? *result.compiled : *result.smallest, ops_);
    return result;
  }

 private:
  struct Refused {
    std::int64_t size = 0;  // the microbatch
    ReserveFacts least;     // no arena of it is smaller, nor is what else the process holds
  };

  // A smaller microbatch repeats per-step costs more often; it can win only if the larger one had to recompute or wait.
  bool could_be_faster(std::int64_t) const {
    return best_->point.recompute_flops_ratio > 0 || best_->point.spill_bytes > 0;
  }

  void consider_all(const std::vector<std::int64_t>& sizes) {
    refused_.clear();
    for (const std::int64_t size : sizes) {
      if (best_ && !could_be_faster(size)) continue;
      consider(size);
    }
  }

  void consider(std::int64_t size) {
    const auto stages = std::make_shared<Stages>(request_, size, ops_, kernels_);
    const Fronts::Front front = fronts_.of(*stages);
    const ReserveFacts least = stages->least_facts({}, front.points.back().arena_bytes());
    for (const NamedPoint& point : front.points) {
      if (!may_fit(with_arena(least, point)) || !may_fit(stages->least_facts(point.choice, point.arena_bytes())))
        continue;
      Stages::Planned planned = stages->plan(point.choice, point.strategy);
      if (!fits(planned)) continue;
      if (!best_ || planned.point.seconds < best_->point.seconds) {
        best_ = std::move(planned);
        best_stages_ = stages;
      }
      break;  // the front is sorted: whatever follows is slower
    }
    if (!best_) refused_.push_back({size, least});
  }

  // Only placed plans tell which is the smallest: the smallest arena may take so many steps that their descriptors
  // outweigh it, and another phase may hold more than the busiest one. What is alive bounds them from below, so that
  // few are placed. The stages of one size at a time are held, made again for those that are judged here: a small arena
  // with its reserve is hardly more than what planning holds.
  void find_smallest(CompileResult& result) {
    std::stable_sort(refused_.begin(), refused_.end(),
                     [](const Refused& a, const Refused& b) { return a.least.arena_bytes < b.least.arena_bytes; });
    std::int64_t size = 0;  // of the smallest so far
    Bytes evaluation = 0;
    NamedPoint smallest;
    result.smallest_tensor_bytes = result.smallest_memory = std::numeric_limits<Bytes>::max();
    for (const Refused& refused : refused_) {
      if (!could_be_smaller(refused.least, result)) continue;
      Stages stages(request_, refused.size, ops_, kernels_);
      const Fronts::Front front = fronts_.of(stages);
      for (auto point = front.points.rbegin(); point != front.points.rend(); ++point) {
        if (!could_be_smaller(with_arena(refused.least, *point), result)) break;
        const ReserveFacts least = stages.least_facts(point->choice, point->arena_bytes());
        if (!could_be_smaller(least, result) || !has_chance(least, result)) continue;
        const Stages::Planned planned = stages.plan(point->choice, point->strategy);
        const Bytes arena = planned.point.arena_bytes, process = planned.point.process_bytes;
        if (request_.memory ? process < result.smallest_memory : arena < result.smallest_tensor_bytes) {
          size = refused.size;
          evaluation = front.evaluation;
          smallest = *point;
        }
        result.smallest_tensor_bytes = std::min(arena, result.smallest_tensor_bytes);
        result.smallest_memory = std::min(process, result.smallest_memory);
      }
    }
    Stages stages(request_, size, ops_, kernels_);
    stages.add_evaluation(evaluation);
    result.smallest_microbatch = size;
    result.smallest = stages.finish(stages.plan(smallest.choice, smallest.strategy));
  }

  static ReserveFacts with_arena(ReserveFacts facts, const NamedPoint& point) {
    facts.arena_bytes = point.arena_bytes();
    return facts;
  }

  static bool could_be_smaller(const ReserveFacts& least, const CompileResult& found) {
    return least.arena_bytes < found.smallest_tensor_bytes || least_process(least) < found.smallest_memory;
  }

  // Among plans that all need what the compiler needs, only chance and rounding make a difference, of less than a MiB:
  // kMostChances are looked at, not hundreds. With more of them, the smallest budget that is told may be that much too
  // large; what is told is always planned.
  bool has_chance(const ReserveFacts& least, const CompileResult& found) {
    if (least.arena_bytes < found.smallest_tensor_bytes || least_process(least) > predict_planning(least)) return true;
    return --chances_left_ >= 0;
  }

  bool is_constrained() const { return request_.memory || request_.tensor_memory; }

  bool fits(const Stages::Planned& planned) const { return fits(planned.point.arena_bytes, planned.reserve); }

  bool fits(Bytes arena, const Reserve& reserve) const {
    if (request_.tensor_memory && arena > *request_.tensor_memory) return false;
    return !request_.memory || arena + reserve.total() <= *request_.memory;
  }

  // A cheap test before a plan is made: live bytes bound the arena from below.
  bool may_fit(const ReserveFacts& least) const {
    if (request_.tensor_memory && least.arena_bytes > *request_.tensor_memory) return false;
    return !request_.memory || least_process(least) <= *request_.memory;
  }

  static constexpr int kMostChances = 48;

  const CompileRequest& request_;
  OpTable ops_;
  KernelTable kernels_;
  Fronts fronts_;
  std::vector<Refused> refused_;
  int chances_left_ = kMostChances;
  std::optional<Stages::Planned> best_;
  std::shared_ptr<Stages> best_stages_;
};

CompileResult compile_by_costs(const CompileRequest& request, OpTable ops, KernelTable kernels) {
  return request.changing ? compile_ladder(request, ops, kernels) : Compiler(request, ops, kernels).run();
}

}  // namespace

// Measured times differ from run to run. They may choose between schedules, which all give the same bits, but the
// microbatch changes the order of sums: that is chosen by the model.
CompileResult compile(const CompileRequest& request, OpTable ops, KernelTable kernels) {
  if (!request.costs) return compile_by_costs(request, ops, kernels);
  check_request(request);
  CompileRequest by_model = request, by_time = request;
  by_model.cost = CostSource::model;
  by_model.costs.reset();
  if (microbatch_candidates(request, check_splitting(request, ops)).size() > 1) {
    CompileResult predicted = compile_by_costs(by_model, ops, kernels);
    if (!predicted.compiled) return predicted;
    by_time.microbatch = predicted.compiled->microbatch;
  }
  CompileResult result = compile_by_costs(by_time, ops, kernels);
  // Either search may end a little above the other: what fits by the model, asked the very same, is not refused, and
  // the smallest budget is the same on every run.
  if (!result.compiled) result = compile_by_costs(by_model, ops, kernels);
  if (result.compiled) result.compiled->request.microbatch = request.microbatch;
  return result;
}

CompileResult compile_apart(const CompileRequest& request, OpTable ops, KernelTable kernels) {
  return run_apart([&] { return compile(request, ops, kernels); });
}

}  // namespace thimble
