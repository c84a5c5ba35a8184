#include "passes/fuse_activation.h"
#include "passes/passes.h"

namespace thimble::passes {
namespace {

bool run(Graph& graph, const PassContext&) {
  static constexpr std::string_view kProducers[] = {"batch_norm", "group_norm", "normalize"};
  return fuse_activation(graph, kProducers);
}

}  // namespace

const Pass kFuseNormActivation = {
    "fuse_norm_activation",
    "normalise and rectify in one pass over memory; backward re-derives the mask from the norm's input", run};

}  // namespace thimble::passes
