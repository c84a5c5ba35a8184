// Activations, their gradients and kept values become bf16 by making the images bf16: every op hands its input's type
// on. From the first value without spatial extent the network goes on in f32, so that the classifier, softmax and loss
// see full precision. Without an f32 master the matrices and filters become bf16 too; vectors (norms, biases) are too
// small to matter and stay f32.
#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

bool is_head(const Graph& graph, const Node& node) {
  return node.op->name == "linear" ||
         (node.op->name == "softmax_cross_entropy" && graph.value(node.inputs[0]).type.shape.rank() == 2);
}

bool run(Graph& graph, const PassContext& context) {
  if (context.precision != DType::bf16) return false;
  Rewriter rewriter(graph);
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    const Value& value = graph.value(ValueId{v});
    if (value.producer.is_valid()) continue;
    const ValueId id = rewriter.copy_source(ValueId{v});
    const bool is_matrix = value.role == Role::parameter && value.type.shape.rank() >= 2;
    if (value.role == Role::input || (is_matrix && context.master == Master::none))
      rewriter.graph().value(id).type.dtype = DType::bf16;
  }
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (is_head(graph, node)) {
      const ValueId input = rewriter.mapped(node.inputs[0]);
      if (rewriter.graph().value(input).type.dtype == DType::bf16) {
        const ValueId wide = rewriter.graph().apply("cast", {input}, {{"dtype", std::string("f32")}},
                                                    rewriter.graph().value(input).name + ".f32");
        rewriter.map(node.inputs[0], wide);
      }
    }
    rewriter.copy_node(id);
  }
  graph = rewriter.take();
  return true;
}

}  // namespace

const Pass kBf16Storage = {"bf16_storage", "keep activations and their gradients as bf16; arithmetic stays f32", run};

}  // namespace thimble::passes
