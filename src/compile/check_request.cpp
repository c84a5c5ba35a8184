#include "compile/check_request.h"

#include <algorithm>

#include "base/error.h"

namespace thimble {

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
  ensure((request.cost == CostSource::measured) == (request.costs != nullptr), "request: cost is ",
         name_of(request.cost), ", and a table is ", request.costs ? "there" : "not there");
  require(!request.costs || !request.allowed.contains("microbatch-change"),
          "--cost measured goes with a microbatch that stays, not with --allow microbatch-change: measured times never "
          "choose a microbatch");
  require(!request.changing || !request.tensor_memory,
          "--tensor-memory goes with a plan that stays; a budget that may change is one of the whole process");
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
