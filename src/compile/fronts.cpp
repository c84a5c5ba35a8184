#include "compile/fronts.h"

#include <algorithm>

#include "base/error.h"
#include "search/evaluate.h"

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

bool check_splitting(const CompileRequest& request, OpTable ops) {
  ModelSpec spec = request.model;
  spec.samples = request.batch;
  const bool coupled = is_batch_coupled(build_model(spec, ops).graph);
  const bool may_split = !coupled || request.allowed.contains("microbatch-norm");
  require(may_split || !request.microbatch || *request.microbatch >= request.batch, "model '", request.model.name,
          "' has batch norm: microbatches change its statistics. Allow that with --allow microbatch-norm, or take "
          "the model with group norm ('",
          request.model.name, "-gn')");
  return may_split;
}

}  // namespace thimble
