#include "select/select.h"

#include <algorithm>

#include "select/use.h"

namespace thimble {
namespace {

void set_cost(Choice& choice, const Graph& graph, NodeId id, const Graph::NodeTypes& types,
              const SelectOptions& options) {
  const Node& node = graph.node(id);
  const NodeCost cost = cost_of(graph, id, options.cost, choice.kernel != nullptr ? choice.kernel->pace : 1);
  choice.flops = cost.flops;
  choice.seconds = cost.seconds;
  if (options.measured == nullptr || node.op->is_view) return;
  const std::optional<double> measured = options.measured->seconds_of(use_text(choice, node, types));
  choice.is_measured = measured.has_value();
  choice.seconds = measured.value_or(cost.seconds * options.measured->ratio());
}

Choice choose(const Graph& graph, NodeId id, const Graph::NodeTypes& types, KernelTable kernels,
              const SelectOptions& options) {
  const Node& node = graph.node(id);
  const KernelQuery query{types.in, types.out, &node.attributes, options.target.threads};
  Choice choice;
  if (options.use_references || node.op->is_view) return choice;
  std::vector<const Kernel*> candidates;
  for (const Kernel* kernel : kernels) {
    if (kernel->op == node.op->name) candidates.push_back(kernel);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Kernel* a, const Kernel* b) { return a->rank > b->rank; });
  for (const Kernel* kernel : candidates) {
    std::string reason;
    if (!includes(options.target.isa, kernel->isa)) {
      reason = "needs " + std::string(name_of(kernel->isa));
    } else {
      reason = kernel->refuse(query);
    }
    if (!reason.empty()) {
      choice.refusals.push_back({kernel->name, std::move(reason)});
      continue;
    }
    choice.kernel = kernel;
    choice.workspace = kernel->workspace ? kernel->workspace(query) : 0;
    choice.resident = kernel->resident ? kernel->resident(query) : 0;
    break;
  }
  return choice;
}

}  // namespace

Selected select_kernels(Training training, KernelTable kernels, const SelectOptions& options) {
  Selected selected{std::move(training), options.target, {}};
  for (std::int32_t n = 0; n < selected.graph().node_count(); ++n) {
    const Graph::NodeTypes types = selected.graph().types_of(NodeId{n});
    selected.choices.push_back(choose(selected.graph(), NodeId{n}, types, kernels, options));
    set_cost(selected.choices.back(), selected.graph(), NodeId{n}, types, options);
  }
  return selected;
}

}  // namespace thimble
