#include "passes/fuse_activation.h"
#include "passes/passes.h"

namespace thimble::passes {
namespace {

bool run(Graph& graph, const PassContext&) {
  static constexpr std::string_view kProducers[] = {"add"};
  return fuse_activation(graph, kProducers);
}

}  // namespace

const Pass kFuseAddActivation = {"fuse_add_activation", "rectify a residual sum as it is made", run};

}  // namespace thimble::passes
