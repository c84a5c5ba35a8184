// A convolution's weight gradient that is only added to a running total is added where it is computed: one microbatch's
// gradient needs no memory of its own.
#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

constexpr std::string_view kShared[] = {"stride", "padding", "dilation", "groups"};

// The gradient that an accumulation adds, if a convolution can add it.
ValueId swallowed_by(const Graph& graph, const Node& node) {
  if (node.op->name != "accumulate") return {};
  const NodeId maker = graph.value(node.inputs[1]).producer;
  return maker.is_valid() && graph.node(maker).op->name == "conv2d_grad_weight" ? node.inputs[1] : ValueId{};
}

void fuse(Rewriter& rewriter, const Node& sum, const Node& gradient) {
  Attributes attributes = {{"rounding", sum.attributes.word("rounding")}, {"key", sum.attributes.integer("key")}};
  for (const std::string_view name : kShared) attributes.set(name, gradient.attributes.integer(name));
  const std::vector<ValueId> in = rewriter.mapped(gradient.inputs);
  rewriter.replace_node(sum, "conv2d_add_grad_weight", attributes, {rewriter.mapped(sum.inputs[0]), in[0], in[1]});
}

bool run(Graph& graph, const PassContext&) { return join_with_makers(graph, swallowed_by, fuse); }

}  // namespace

const Pass kFuseAccumulate = {"fuse_accumulate", "add weight gradients to their total where they are computed", run};

}  // namespace thimble::passes
