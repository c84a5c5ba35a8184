#include "compile/reference_figures.h"

#include "analysis/baseline.h"
#include "analysis/cost.h"
#include "grad/differentiate.h"

namespace thimble {

void add_reference_figures(Compiled& compiled, OpTable ops) {
  const CompileRequest& request = compiled.request;
  ModelSpec spec = request.model;
  spec.samples = request.batch;
  const Training training =
      differentiate(build_model(spec, ops).graph, {.samples = request.batch}, {request.optimizer, DType::f32});
  compiled.baseline_bytes = baseline_bytes(training);
  double flops = 0;
  for (std::int32_t n = 0; n < training.graph.node_count(); ++n) flops += cost_of(training.graph, NodeId{n}, {}).flops;
  compiled.flops_per_sample = flops / static_cast<double>(request.batch);
}

}  // namespace thimble
