#include "compile/compile.h"

#include <algorithm>

#include "analysis/baseline.h"
#include "base/error.h"
#include "compile/recipe.h"
#include "compile/stages.h"
#include "grad/differentiate.h"
#include "search/evaluate.h"

namespace thimble {
namespace {

struct NamedPoint {
  NamedHolding holding;
  Bytes live_bytes = 0;  // of the busiest phase's transients
  double seconds = 0;    // of the busiest phase
  std::string strategy;
};

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

// The same choices judged for another microbatch; sorted from fastest to smallest, beaten ones left out.
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

std::vector<std::int64_t> microbatch_candidates(const CompileRequest& request, bool may_split) {
  if (request.microbatch) return {std::min(*request.microbatch, request.batch)};
  std::vector<std::int64_t> sizes = {request.batch};
  if (!may_split) return sizes;
  for (std::int64_t size = request.batch - 1; size >= 1; --size) {
    if (request.batch % size == 0) sizes.push_back(size);
  }
  // A prime batch still wants choices between itself and one.
  for (std::int64_t parts = 2; parts < request.batch; parts *= 2) sizes.push_back((request.batch + parts - 1) / parts);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

void check_request(const CompileRequest& request) {
  require(request.batch >= 1, "batch: found ", request.batch, ", wanted at least 1");
  require(!request.microbatch || *request.microbatch >= 1, "microbatch: found ", request.microbatch.value_or(0),
          ", wanted at least 1");
  require(request.sparsity >= 0 && request.sparsity < 1, "sparsity: found ", request.sparsity,
          ", wanted 0 or more and less than 1");
  require(request.master == Master::f32 || request.precision == DType::bf16,
          "--master none goes with --precision bf16");
}

class Compiler {
 public:
  Compiler(const CompileRequest& request, OpTable ops, KernelTable kernels)
      : request_(request), ops_(ops), kernels_(kernels) {}

  CompileResult run() {
    check_request(request_);
    const bool may_split = check_splitting();
    for (const std::int64_t size : microbatch_candidates(request_, may_split)) {
      if (best_ && !could_be_faster(size)) continue;
      consider(size);
    }
    CompileResult result;
    if (best_) {
      result.compiled = best_stages_->finish(std::move(*best_));
    } else {
      Stages::Planned planned = smallest_stages_->plan(smallest_.holding, smallest_.strategy);
      result.smallest_tensor_bytes = planned.point.arena_bytes;
      result.smallest_memory = planned.point.arena_bytes + planned.reserve.total();
      result.smallest_microbatch = planned.point.microbatch;
      result.smallest = smallest_stages_->finish(std::move(planned));
    }
    add_reference_figures(best_ ? *result.compiled : *result.smallest);
    return result;
  }

  std::vector<PointSummary> explore_points() {
    check_request(request_);
    check_splitting();
    Stages stages(request_, request_.microbatch.value_or(request_.batch), ops_, kernels_);
    const std::vector<NamedPoint> front = full_front(stages, request_.recompute);
    stages.add_evaluation(front.back().live_bytes);
    std::vector<PointSummary> points;
    points.reserve(front.size());
    for (const NamedPoint& point : front) points.push_back(stages.plan(point.holding, point.strategy).point);
    return points;
  }

 private:
  // Whether microbatches are allowed; UserError if one is asked for that would change the result without leave.
  bool check_splitting() const {
    ModelSpec spec = request_.model;
    spec.samples = request_.batch;
    const bool coupled = is_batch_coupled(build_model(spec, ops_).graph);
    const bool may_split = !coupled || request_.allowed.contains("microbatch-norm");
    require(may_split || !request_.microbatch || *request_.microbatch >= request_.batch, "model '", request_.model.name,
            "' has batch norm: microbatches change its statistics. Allow that with --allow microbatch-norm, or take "
            "the model with group norm ('",
            request_.model.name, "-gn')");
    return may_split;
  }

  // A smaller microbatch repeats per-step costs more often; it can win only if the larger one had to recompute.
  bool could_be_faster(std::int64_t) const { return best_->point.recompute_flops_ratio > 0; }

  void consider(std::int64_t size) {
    auto stages = std::make_shared<Stages>(request_, size, ops_, kernels_);
    std::vector<NamedPoint> front;
    if (known_.empty() || request_.microbatch) {
      // Without a budget the fastest point is the one that recomputes nothing: no search needed.
      front = full_front(*stages, is_constrained() ? request_.recompute : Recompute::none);
      known_ = front;
    } else {
      front = transferred_front(*stages, known_);
    }
    stages->add_evaluation(front.back().live_bytes);
    for (const NamedPoint& point : front) {
      if (!may_fit(*stages, point)) continue;
      Stages::Planned planned = stages->plan(point.holding, point.strategy);
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
    const Bytes bytes = stages->persistent_bytes() + point.live_bytes;
    if (smallest_stages_ && bytes >= smallest_bytes_) return;
    smallest_bytes_ = bytes;
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
  bool may_fit(const Stages& stages, const NamedPoint& point) const {
    if (!is_constrained()) return true;
    const Bytes arena = stages.persistent_bytes() + point.live_bytes;
    return fits(arena, predict_reserve({.target = request_.target, .arena_bytes = arena}));
  }

  void add_reference_figures(Compiled& compiled) const {
    ModelSpec spec = request_.model;
    spec.samples = request_.batch;
    const Training training =
        differentiate(build_model(spec, ops_).graph, {.samples = request_.batch}, {request_.optimizer, DType::f32});
    compiled.baseline_bytes = baseline_bytes(training);
    double flops = 0;
    for (std::int32_t n = 0; n < training.graph.node_count(); ++n)
      flops += cost_of(training.graph, NodeId{n}, {}).flops;
    compiled.flops_per_sample = flops / static_cast<double>(request_.batch);
  }

  const CompileRequest& request_;
  OpTable ops_;
  KernelTable kernels_;
  std::vector<NamedPoint> known_;
  std::optional<Stages::Planned> best_;
  NamedPoint smallest_;
  Bytes smallest_bytes_ = 0;
  std::shared_ptr<Stages> best_stages_, smallest_stages_;
};

}  // namespace

CompileResult compile(const CompileRequest& request, OpTable ops, KernelTable kernels) {
  return Compiler(request, ops, kernels).run();
}

std::vector<PointSummary> explore(const CompileRequest& request, OpTable ops, KernelTable kernels) {
  return Compiler(request, ops, kernels).explore_points();
}

}  // namespace thimble
