#include "passes/fuse_activation.h"
#include "passes/passes.h"

namespace thimble::passes {
namespace {

bool run(Graph& graph, const PassContext&) {
  static constexpr std::string_view kProducers[] = {"conv2d", "linear"};
  return fuse_activation(graph, kProducers);
}

}  // namespace

const Pass kFuseConvActivation = {
    "fuse_conv_activation", "rectify while the convolution's or linear layer's result is still in registers", run};

}  // namespace thimble::passes
