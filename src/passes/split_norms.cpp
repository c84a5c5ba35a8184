// A norm becomes its statistics and its normalisation, so that recomputation repeats only the cheap half. Same kernels'
// arithmetic, same bits.
#include "passes/passes.h"
#include "passes/rewriter.h"

namespace thimble::passes {
namespace {

void split(Rewriter& rewriter, const Graph& graph, const Node& node) {
  const bool is_group = node.op->name == "group_norm";
  const std::int64_t groups = is_group ? node.attributes.integer("groups") : 0;
  const std::vector<ValueId> in = rewriter.mapped(node.inputs);
  Attributes moments = {{"eps", node.attributes.number("eps")}};
  if (is_group) moments.set("groups", groups);
  Graph& target = rewriter.graph();
  const Value& mean = graph.value(node.outputs[1]);
  const NodeId statistics =
      target.add_node(is_group ? "group_moments" : "batch_moments", {in[0]}, moments, mean.name, mean.role);
  const std::vector<ValueId> stats = target.node(statistics).outputs;
  if (target.value(stats[1]).name != graph.value(node.outputs[2]).name)
    target.rename(stats[1], graph.value(node.outputs[2]).name);
  const Value& output = graph.value(node.outputs[0]);
  const ValueId y =
      target.apply("normalize", {in[0], stats[0], stats[1], in[1], in[2]},
                   {{"groups", groups}, {"activation", node.attributes.word("activation")}}, output.name, output.role);
  rewriter.map(node.outputs[0], y);
  rewriter.map(node.outputs[1], stats[0]);
  rewriter.map(node.outputs[2], stats[1]);
}

bool is_norm(const Node& node) { return node.op->name == "batch_norm" || node.op->name == "group_norm"; }

bool run(Graph& graph, const PassContext&) {
  if (!any_node(graph, is_norm)) return false;
  Rewriter rewriter(graph);
  rewriter.copy_sources();
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (is_norm(node)) {
      split(rewriter, graph, node);
    } else {
      rewriter.copy_node(id);
    }
  }
  graph = rewriter.take();
  return true;
}

}  // namespace

const Pass kSplitNorms = {"split_norms",
                          "statistics and normalisation apart, so that only the cheap half is ever repeated", run};

}  // namespace thimble::passes
