#include "grad/differentiate.h"

#include <algorithm>
#include <map>
#include <optional>

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
  Differentiator(const Graph& forward, const RuleChoice& rules)
      : graph_(forward),
        rules_(rules),
        loss_(forward.find(kLoss)),
        forward_values_(forward.value_count()),
        kept_(static_cast<std::size_t>(forward.node_count())) {
    for (std::int32_t v = 0; v < graph_.value_count(); ++v) {
      if (graph_.value(ValueId{v}).role == Role::parameter)
        leaves_.push_back({ValueId{v}, leaf_of(graph_, ValueId{v})});
    }
    mark_needed();
  }

  Backward run() {
    visit_all();
    Backward result{std::move(graph_), {}};
    for (const TrainedParameter& leaf : leaves_) {
      const ValueId gradient = join(leaf.gradient, result.graph);
      if (gradient.is_valid()) result.trained.push_back({leaf.parameter, gradient});
    }
    return result;
  }

  void visit_all() {
    const std::vector<NodeId> order = graph_.topological_order();
    for (auto it = order.rbegin(); it != order.rend(); ++it) visit(*it);
  }

  // After visit_all: the forward activations that the gradient of `id` reads under the rule it was built with.
  const std::vector<ValueId>& kept_for(NodeId id) const { return kept_[static_cast<std::size_t>(id.index)]; }

  // The same under another rule, whose nodes are left behind in the graph: only for a graph that is thrown away.
  std::vector<ValueId> kept_for(NodeId id, std::size_t rule) {
    std::optional<GradBuilder> builder = builder_for(id);
    if (!builder) return {};
    const std::int32_t first = graph_.node_count();
    graph_.node(id).op->gradients[rule].build(*builder);
    return kept_by_nodes_from(first);
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

  // Nothing where no gradient arrives or none is wanted.
  std::optional<GradBuilder> builder_for(NodeId id) {
    const Node node = graph_.node(id);
    if (node.op->never_kept || node.op->gradients.empty()) return std::nullopt;
    std::vector<bool> wanted;
    for (const ValueId input : node.inputs) wanted.push_back(needs_[static_cast<std::size_t>(input.index)]);
    if (std::none_of(wanted.begin(), wanted.end(), [](bool w) { return w; })) return std::nullopt;
    std::vector<ValueId> out_gradients;
    bool any = id == graph_.value(loss_).producer;
    for (const ValueId output : node.outputs) {
      out_gradients.push_back(join(output, graph_));
      any = any || out_gradients.back().is_valid();
    }
    if (!any) return std::nullopt;
    return std::make_optional<GradBuilder>(graph_, id, std::move(out_gradients), std::move(wanted));
  }

  void visit(NodeId id) {
    std::optional<GradBuilder> builder = builder_for(id);
    if (!builder) return;
    const std::int32_t first = graph_.node_count();
    const auto rule = rules_.find(id);
    graph_.node(id).op->gradients[rule == rules_.end() ? 0 : rule->second].build(*builder);
    kept_[static_cast<std::size_t>(id.index)] = kept_by_nodes_from(first);
    const std::vector<ValueId>& inputs = graph_.node(id).inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const ValueId gradient = builder->given(static_cast<int>(k));
      if (gradient.is_valid()) contributions_[inputs[k]].push_back(gradient);
    }
  }

  // Forward activations that node `first` or a later one reads, each once.
  std::vector<ValueId> kept_by_nodes_from(std::int32_t first) const {
    std::vector<ValueId> kept;
    for (std::int32_t n = first; n < graph_.node_count(); ++n) {
      for (const ValueId input : graph_.node(NodeId{n}).inputs) {
        if (input.index < forward_values_ && graph_.value(input).role == Role::activation) kept.push_back(input);
      }
    }
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    return kept;
  }

  Graph graph_;
  const RuleChoice& rules_;
  ValueId loss_;
  std::int32_t forward_values_;           // values of the forward graph come first
  std::vector<TrainedParameter> leaves_;  // parameter and the value whose gradient trains it
  std::vector<bool> needs_;
  std::map<ValueId, std::vector<ValueId>> contributions_;
  std::vector<std::vector<ValueId>> kept_;  // of each forward node
};

// The forward values that backward reads under some choice of rules: what training keeps if nothing is recomputed.
class KeptValues {
 public:
  explicit KeptValues(const Graph& forward)
      : forward_(forward), readers_(static_cast<std::size_t>(forward.value_count()), 0) {}

  // Bytes that the readers' values add to all that is kept; each reader counts, each value's bytes only once.
  Bytes add(const std::vector<ValueId>& values) {
    Bytes bytes = 0;
    for (const ValueId value : values) {
      if (readers_[static_cast<std::size_t>(value.index)]++ == 0) bytes += forward_.value(value).type.bytes();
    }
    return bytes;
  }

  Bytes remove(const std::vector<ValueId>& values) {
    Bytes bytes = 0;
    for (const ValueId value : values) {
      if (--readers_[static_cast<std::size_t>(value.index)] == 0) bytes += forward_.value(value).type.bytes();
    }
    return bytes;
  }

 private:
  const Graph& forward_;
  std::vector<int> readers_;  // forward nodes whose gradient reads the value
};

bool has_choice(const Graph& forward) {
  for (std::int32_t n = 0; n < forward.node_count(); ++n) {
    if (forward.node(NodeId{n}).op->gradients.size() > 1) return true;
  }
  return false;
}

// Rules are chosen for the fewest bytes in the union of all that backward reads: a bit mask beside an output that a
// convolution keeps anyway would be a loss. What a node's rule reads does not depend on the rules of other nodes, so
// that every trial builds this one rule and no more.
RuleChoice choose_rules(const Graph& forward) {
  if (!has_choice(forward)) return {};
  const RuleChoice first_rules;
  Differentiator trials(forward, first_rules);
  trials.visit_all();
  KeptValues kept(forward);
  for (std::int32_t n = 0; n < forward.node_count(); ++n) kept.add(trials.kept_for(NodeId{n}));
  RuleChoice choice;
  for (std::int32_t n = 0; n < forward.node_count(); ++n) {
    const NodeId id{n};
    std::vector<ValueId> current = trials.kept_for(id);
    for (std::size_t rule = 1; rule < forward.node(id).op->gradients.size(); ++rule) {
      std::vector<ValueId> other = trials.kept_for(id, rule);
      const Bytes saved = kept.remove(current);
      if (kept.add(other) < saved) {
        choice[id] = rule;
        current = std::move(other);
      } else {
        kept.remove(other);
        kept.add(current);
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
