#include "grad/updates.h"

#include "base/error.h"
#include "base/random.h"

namespace thimble {
namespace {

// One parameter's way from gradient to new value.
class UpdateBuilder {
 public:
  UpdateBuilder(Training& training, const TrainedParameter& trained, const DifferentiateOptions& options)
      : graph_(training.graph),
        phase_(training.phase),
        options_(options),
        parameter_(trained.parameter),
        gradient_(trained.gradient),
        name_(graph_.value(trained.parameter).name),
        pooled_(graph_.value(trained.parameter).type.layout == Layout::pooled) {}

  // The gradient of the whole batch, as far as this phase has it.
  void gather() {
    for (const std::string& state : state_names(options_.optimizer.kind, name_)) {
      states_.push_back(add_state(state, Role::optimizer));
    }
    if (is_in_one_piece()) return;
    needs_accumulator(options_.optimizer) ? accumulate_apart() : accumulate_in_momentum();
  }

  // The parameter's step; `scale` may be invalid: none.
  void update(ValueId scale) {
    if (!phase_.closes || (!is_in_one_piece() && !needs_accumulator(options_.optimizer))) return;
    scale_ = scale;
    apply_rule(name_of(options_.optimizer.kind));
  }

  // Of what gather() made; of a sparse parameter the positions that exist.
  ValueId gradient_norm() {
    const std::string name = "norm/" + name_;
    if (!pooled_) return graph_.apply("euclidean_norm", {gradient_}, {}, name, Role::gradient);
    const Attributes attributes = {{"slot", static_cast<std::int64_t>(graph_.value(parameter_).slot)}};
    return graph_.apply("sparse_norm", {gradient_, structure("mask/" + name_), structure(std::string(kSparseTable))},
                        attributes, name, Role::gradient);
  }

 private:
  bool is_in_one_piece() const {
    const bool waits_elsewhere = options_.has_accumulators && options_.optimizer.clip_norm > 0;
    return phase_.opens && phase_.closes && !waits_elsewhere;
  }

  ValueId add_state(const std::string& name, Role role) {
    Type type = graph_.value(parameter_).type;
    if (type.dtype == DType::bf16) type.dtype = options_.state_dtype;
    const ValueId id = graph_.add_source(name, type, role);
    if (pooled_) {
      graph_.value(id).pool = name.substr(0, name.find('/'));
      graph_.value(id).slot = graph_.value(parameter_).slot;
    }
    return id;
  }

  double weight_decay() const {
    const bool is_vector = graph_.value(parameter_).type.shape.rank() < 2 && !pooled_;
    return is_vector && !options_.optimizer.decay_vectors ? 0.0 : options_.optimizer.weight_decay;
  }

  // Only the attributes that the rule's op has.
  Attributes rule_attributes(std::string_view rule) const {
    const OptimizerSpec& spec = options_.optimizer;
    Attributes attributes;
    if (rule == "momentum" || rule == "nesterov" || rule == "momentum_open") attributes.set("momentum", spec.momentum);
    if (rule == "adamw") {
      attributes.set("beta1", spec.beta1);
      attributes.set("beta2", spec.beta2);
      attributes.set("eps", spec.epsilon);
    }
    if (rule != "momentum_close" && rule != "accumulate") attributes.set("weight_decay", weight_decay());
    add_rounding(attributes);
    return attributes;
  }

  void add_rounding(Attributes& attributes) const {
    // A bf16 parameter moves by less than half its last bit in most steps; rounding at random keeps the mean movement
    // right.
    if (graph_.value(parameter_).type.dtype != DType::bf16) return;
    attributes.set("rounding", std::string("stochastic"));
    attributes.set("key", static_cast<std::int64_t>(hash_text(name_.data(), name_.size()) & 0x7fffffff));
  }

  ValueId structure(const std::string& name) const {
    const ValueId id = graph_.find(name);
    ensure(id.is_valid(), "grad: '", name, "' is missing for a pooled parameter");
    return id;
  }

  // `updated` are the pooled or dense persistents that the rule rewrites or reads, in the op's order.
  void add_rule_node(std::string_view rule, std::vector<ValueId> updated, ValueId gradient) {
    Attributes attributes = rule_attributes(rule);
    const std::string name = "next/" + name_;
    if (!pooled_) {
      const bool is_phase_rule = rule == "momentum_open" || rule == "momentum_close";
      updated.push_back(gradient);
      if (scale_.is_valid()) updated.push_back(scale_);
      inherit(graph_.add_node(is_phase_rule ? std::string(rule) : std::string(rule) + "_update", std::move(updated),
                              attributes, name));
      return;
    }
    attributes.set("rule", std::string(rule));
    attributes.set("slot", static_cast<std::int64_t>(graph_.value(parameter_).slot));
    updated.push_back(structure("mask/" + name_));
    updated.push_back(structure(std::string(kSparseTable)));
    updated.push_back(gradient);
    if (scale_.is_valid()) updated.push_back(scale_);
    inherit(graph_.add_node("sparse_update", updated, attributes, name));
  }

  // An update's outputs are what they replace.
  void inherit(NodeId node) {
    for (const ValueId output : graph_.node(node).outputs) {
      const Value& storage = graph_.value(graph_.storage_of(output));
      graph_.value(output).role = storage.role;
      graph_.value(output).pool = storage.pool;
      graph_.value(output).slot = storage.slot;
    }
  }

  void apply_rule(std::string_view rule) {
    std::vector<ValueId> updated = {parameter_};
    updated.insert(updated.end(), states_.begin(), states_.end());
    add_rule_node(rule, std::move(updated), gradient_);
  }

  // v = mu v + wd p + g opens the iteration, v += g goes on, and p -= lr v closes it: no buffer beyond the momentum
  // itself.
  void accumulate_in_momentum() {
    if (phase_.opens) {
      add_rule_node("momentum_open", {states_[0], parameter_}, gradient_);
    } else if (phase_.closes) {
      add_rule_node("momentum_close", {parameter_, states_[0]}, gradient_);
    } else {
      gradient_ = add_to(states_[0], false);
    }
  }

  ValueId add_to(ValueId total, bool opens) {
    Attributes attributes;
    add_rounding(attributes);
    const std::string name = "next/" + graph_.value(total).name;
    const Role role = graph_.value(total).role;
    if (!pooled_) return graph_.apply("accumulate", {total, gradient_}, attributes, name, role);
    attributes.set("slot", static_cast<std::int64_t>(graph_.value(parameter_).slot));
    attributes.set("opens", std::int64_t{opens ? 1 : 0});
    const NodeId node = graph_.add_node(
        "sparse_accumulate", {total, structure("mask/" + name_), structure(std::string(kSparseTable)), gradient_},
        attributes, name, role);
    inherit(node);
    return graph_.node(node).outputs[0];
  }

  void accumulate_apart() {
    const std::string name = "sum/" + name_;
    if (phase_.opens && !pooled_) {
      // The first gradient is written straight into the accumulator's place.
      const Type& type = graph_.value(gradient_).type;
      const DType wanted = graph_.value(parameter_).type.dtype == DType::bf16 ? options_.state_dtype : DType::f32;
      if (type.dtype != wanted) {
        gradient_ =
            graph_.apply("cast", {gradient_}, {{"dtype", std::string(name_of(wanted))}}, name, Role::accumulator);
      } else {
        graph_.rename(gradient_, name);
        graph_.value(gradient_).role = Role::accumulator;
      }
      return;
    }
    gradient_ = add_to(add_state(name, Role::accumulator), phase_.opens);
  }

  Graph& graph_;
  Phase phase_;
  const DifferentiateOptions& options_;
  ValueId parameter_;
  ValueId gradient_;
  ValueId scale_;  // of the gradient; invalid: none
  std::string name_;
  bool pooled_;
  std::vector<ValueId> states_;
};

// One number that depends on all gradients; their common length is read by the host.
ValueId add_clip_scale(Graph& graph, std::vector<UpdateBuilder>& builders, double limit) {
  std::vector<ValueId> norms;
  for (UpdateBuilder& builder : builders) norms.push_back(builder.gradient_norm());
  const Attributes attributes = {{"limit", limit}, {"count", static_cast<std::int64_t>(norms.size())}};
  const NodeId node = graph.add_node("clip_scale", std::move(norms), attributes, "clip_scale", Role::gradient);
  const std::vector<ValueId> outputs = graph.node(node).outputs;
  graph.rename(outputs[1], kGradientNorm);
  graph.value(outputs[1]).role = Role::metric;
  return outputs[0];
}

}  // namespace

void add_updates(Training& training, const std::vector<TrainedParameter>& trained,
                 const DifferentiateOptions& options) {
  const double limit = options.optimizer.clip_norm;
  std::vector<UpdateBuilder> builders;
  for (const TrainedParameter& parameter : trained) {
    builders.emplace_back(training, parameter, options).gather();
    if (limit <= 0) builders.back().update({});
  }
  if (limit <= 0 || !training.phase.closes || trained.empty()) return;
  const ValueId scale = add_clip_scale(training.graph, builders, limit);
  for (UpdateBuilder& builder : builders) builder.update(scale);
}

}  // namespace thimble
