// A convolution, or the gradient of its weights, that reads what a norm made reads the norm's own input and normalises
// it on the way: the normalised tensor is neither stored nor made again. Cheap beside the products, or
// hidden behind the bytes of a depthwise one, so all plans do it.
#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

struct Reader {
  std::string_view op;
  std::size_t source;  // operand
};

constexpr Reader kReaders[] = {{"conv2d", 0}, {"conv2d_grad_weight", 0}, {"conv2d_add_grad_weight", 1}};

constexpr std::size_t kNormInputs = 5;  // without an addend: a sum is kept, and read as it is

// How a node reads a norm; null if it does not, or may not.
const Reader* reader_of(const Graph& graph, const Node& node) {
  for (const Reader& reader : kReaders) {
    if (node.op->name != reader.op) continue;
    const NodeId producer = graph.value(node.inputs[reader.source]).producer;
    if (!producer.is_valid()) continue;
    const Node& norm = graph.node(producer);
    if (norm.op->name == "normalize" && norm.inputs.size() == kNormInputs) return &reader;
  }
  return nullptr;
}

void fuse(Rewriter& rewriter, const Graph& graph, const Node& node, const Reader& reader) {
  const Node& norm = graph.node(graph.value(node.inputs[reader.source]).producer);
  std::vector<ValueId> in = rewriter.mapped(node.inputs);
  in[reader.source] = rewriter.mapped(norm.inputs[0]);
  const std::vector<ValueId> operands = rewriter.mapped(norm.inputs);
  in.insert(in.begin() + static_cast<std::ptrdiff_t>(reader.source) + 1, operands.begin() + 1, operands.end());
  Attributes attributes = node.attributes;
  attributes.set("norm_groups", norm.attributes.integer("groups"));
  attributes.set("norm_activation", norm.attributes.word("activation"));
  const Value& output = graph.value(node.outputs[0]);
  rewriter.map(node.outputs[0],
               rewriter.graph().apply("norm_" + std::string(reader.op), in, attributes, output.name, output.role));
}

bool run(Graph& graph, const PassContext&) {
  if (!any_node(graph, [&](const Node& node) { return reader_of(graph, node) != nullptr; })) return false;
  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const NodeId id : graph.topological_order()) {
    const Reader* reader = reader_of(graph, graph.node(id));
    if (reader != nullptr) {
      fuse(rewriter, graph, graph.node(id), *reader);
    } else {
      rewriter.copy_node(id);
    }
  }
  graph = rewriter.take();
  return true;
}

}  // namespace

const Pass kFuseNormalize = {"fuse_normalize", "normalise what convolutions read while they read it", run};

}  // namespace thimble::passes
