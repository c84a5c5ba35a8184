#include "grad/differentiate.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "grad/updates.h"
#include "ir/grad_builder.h"

namespace thimble {
namespace {

using RuleChoice = std::map<NodeId, std::size_t>;  // nodes that use another rule than their first

// The value whose gradient trains a parameter: the parameter itself, or the dense form of a pooled one.
ValueId leaf_of(const Graph& graph, ValueId parameter) {
  if (graph.value(parameter).type.layout != Layout::pooled) return parameter;
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    const Node& node = graph.node(NodeId{n});
    if (node.op->never_kept && node.inputs[0] == parameter) return node.outputs[0];
  }
  fail_internal(join_text("grad: pooled parameter '", graph.value(parameter).name, "' is never unpacked"));
}

struct Backward {
  Graph graph;
  std::vector<TrainedParameter> trained;
};

class Differentiator {
 public:
  Differentiator(const Graph& forward, const RuleChoice& rules) : graph_(forward), rules_(rules) {
    for (std::int32_t v = 0; v < graph_.value_count(); ++v) {
      if (graph_.value(ValueId{v}).role == Role::parameter)
        leaves_.push_back({ValueId{v}, leaf_of(graph_, ValueId{v})});
    }
    mark_needed();
  }

  Backward run() {
    const std::vector<NodeId> order = graph_.topological_order();
    const ValueId loss = graph_.find(kLoss);
    for (auto it = order.rbegin(); it != order.rend(); ++it) visit(*it, *it == graph_.value(loss).producer);
    Backward result{std::move(graph_), {}};
    for (const TrainedParameter& leaf : leaves_) {
      const ValueId gradient = join(leaf.gradient, result.graph);
      if (gradient.is_valid()) result.trained.push_back({leaf.parameter, gradient});
    }
    return result;
  }

 private:
  void mark_needed() {
    needs_.assign(static_cast<std::size_t>(graph_.value_count()), false);
    for (const TrainedParameter& leaf : leaves_) needs_[static_cast<std::size_t>(leaf.gradient.index)] = true;
    for (const NodeId id : graph_.topological_order()) {
      const Node& node = graph_.node(id);
      if (node.op->never_kept) continue;  // leaves
      const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                   [&](ValueId v) { return needs_[static_cast<std::size_t>(v.index)]; });
      for (const ValueId output : node.outputs) {
        if (any && !node.op->gradients.empty()) needs_[static_cast<std::size_t>(output.index)] = true;
      }
    }
  }

  // Sum of all gradients that reached a value; invalid if none did.
  ValueId join(ValueId value, Graph& graph) {
    const auto found = contributions_.find(value);
    if (found == contributions_.end()) return {};
    ValueId sum = found->second[0];
    for (std::size_t k = 1; k < found->second.size(); ++k) {
      sum = graph.apply("add", {sum, found->second[k]}, {}, "d." + graph.value(value).name, Role::gradient);
    }
    found->second = {sum};
    return sum;
  }

  void visit(NodeId id, bool is_loss) {
    const Node node = graph_.node(id);
    if (node.op->never_kept || node.op->gradients.empty()) return;
    std::vector<bool> wanted;
    for (const ValueId input : node.inputs) wanted.push_back(needs_[static_cast<std::size_t>(input.index)]);
    if (std::none_of(wanted.begin(), wanted.end(), [](bool w) { return w; })) return;
    std::vector<ValueId> out_gradients;
    bool any = is_loss;
    for (const ValueId output : node.outputs) {
      out_gradients.push_back(join(output, graph_));
      any = any || out_gradients.back().is_valid();
    }
    if (!any) return;
    GradBuilder builder(graph_, id, std::move(out_gradients), wanted);
    const auto rule = rules_.find(id);
    node.op->gradients[rule == rules_.end() ? 0 : rule->second].build(builder);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId gradient = builder.given(static_cast<int>(k));
      if (gradient.is_valid()) contributions_[node.inputs[k]].push_back(gradient);
    }
  }

  Graph graph_;
  const RuleChoice& rules_;
  std::vector<TrainedParameter> leaves_;  // parameter and the value whose gradient trains it
  std::vector<bool> needs_;
  std::map<ValueId, std::vector<ValueId>> contributions_;
};

// Bytes of forward values that backward nodes read: what training keeps if nothing is recomputed.
Bytes kept_bytes(const Graph& forward, const Graph& graph) {
  std::set<ValueId> kept;
  for (std::int32_t n = forward.node_count(); n < graph.node_count(); ++n) {
    for (const ValueId input : graph.node(NodeId{n}).inputs) {
      if (input.index < forward.value_count() && graph.value(input).role == Role::activation) kept.insert(input);
    }
  }
  Bytes bytes = 0;
  for (const ValueId value : kept) bytes += graph.value(value).type.bytes();
  return bytes;
}

// Rules are chosen for the fewest bytes in the union of all that backward reads: a bit mask beside an output that a
// convolution keeps anyway would be a loss.
RuleChoice choose_rules(const Graph& forward) {
  RuleChoice choice;
  Bytes best = -1;
  for (std::int32_t n = 0; n < forward.node_count(); ++n) {
    const NodeId id{n};
    for (std::size_t rule = 1; rule < forward.node(id).op->gradients.size(); ++rule) {
      if (best < 0) best = kept_bytes(forward, Differentiator(forward, choice).run().graph);
      RuleChoice trial = choice;
      trial[id] = rule;
      const Bytes bytes = kept_bytes(forward, Differentiator(forward, trial).run().graph);
      if (bytes < best) {
        best = bytes;
        choice = trial;
      }
    }
  }
  return choice;
}

void require_metrics(const Graph& graph) {
  for (const std::string_view metric : {kLoss, kHits}) {
    const ValueId id = graph.find(metric);
    require(id.is_valid() && graph.value(id).producer.is_valid(), "model: found no node that makes '", metric,
            "', wanted one: it is what a loop reads after each phase");
  }
}

void mark_metrics(Graph& graph) {
  for (const std::string_view metric : {kLoss, kHits}) graph.value(graph.find(metric)).role = Role::metric;
}

}  // namespace

std::string name_of(const Phase& phase) {
  const std::string samples = " " + std::to_string(phase.samples);
  if (!phase.trains) return "evaluate" + samples;
  if (phase.opens && phase.closes) return "whole" + samples;
  return (phase.opens ? "first" : phase.closes ? "last" : "middle") + samples;
}

Training differentiate(const Graph& forward, const Phase& phase, const DifferentiateOptions& options) {
  require_metrics(forward);
  Backward backward = Differentiator(forward, choose_rules(forward)).run();
  Training training{phase, std::move(backward.graph)};
  add_updates(training, backward.trained, options);
  mark_metrics(training.graph);
  return training;
}

Training evaluation(const Graph& forward, const Phase& phase) {
  require_metrics(forward);
  Training training{phase, forward};
  mark_metrics(training.graph);
  return training;
}

}  // namespace thimble
