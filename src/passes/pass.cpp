#include "passes/pass.h"

#include "ir/verify.h"

namespace thimble {

std::vector<PassReport> run_passes(Graph& graph, std::span<const Pass> passes, const PassContext& context,
                                   const std::set<std::string>& skip) {
  std::vector<PassReport> reports;
  for (const Pass& pass : passes) {
    PassReport report{.name = pass.name, .nodes_before = graph.node_count()};
    report.skipped = skip.contains(std::string(pass.name));
    if (!report.skipped) report.changed = pass.run(graph, context);
    if (report.changed) verify(graph);
    report.nodes_after = graph.node_count();
    reports.push_back(report);
  }
  return reports;
}

}  // namespace thimble
