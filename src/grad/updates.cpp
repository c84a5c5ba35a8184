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

  void build() {
    const OptimizerKind kind = options_.optimizer.kind;
    for (const std::string& state : state_names(kind, name_)) states_.push_back(add_state(state, Role::optimizer));
    if (phase_.opens && phase_.closes) return apply_rule(name_of(kind));
    if (!needs_accumulator(kind)) return accumulate_in_momentum();
    accumulate_apart();
    if (phase_.closes) apply_rule(name_of(kind));
  }

 private:
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
      inherit(graph_.add_node(is_phase_rule ? std::string(rule) : std::string(rule) + "_update", std::move(updated),
                              attributes, name));
      return;
    }
    attributes.set("rule", std::string(rule));
    attributes.set("slot", static_cast<std::int64_t>(graph_.value(parameter_).slot));
    updated.push_back(structure("mask/" + name_));
    updated.push_back(structure(std::string(kSparseTable)));
    updated.push_back(gradient);
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
  std::string name_;
  bool pooled_;
  std::vector<ValueId> states_;
};

}  // namespace

void add_updates(Training& training, const std::vector<TrainedParameter>& trained,
                 const DifferentiateOptions& options) {
  for (const TrainedParameter& parameter : trained) UpdateBuilder(training, parameter, options).build();
}

}  // namespace thimble
