// What the ops share that make the gradient of weights and apply it to them at once, so that it is never stored. They
// take any rule of update_rules.h. Inputs: the rule's tensors, then what the gradient is made of.
#pragma once

#include "ops/update_rules.h"

namespace thimble::ops {

// Where the operands of the gradient begin. The rule is known to exist.
inline std::size_t first_operand(const OpQuery& q) noexcept {
  return static_cast<std::size_t>(find_rule(q)->input_count);
}

// Checks all but the operands, of which there are as many.
inline std::vector<Type> infer_weight_update(std::string_view op, const OpQuery& q, std::size_t operands) {
  const UpdateRule& rule = require_rule(op, q);
  const auto tensors = static_cast<std::size_t>(rule.input_count);
  require(q.in.size() == tensors + operands, op, ": found ", q.in.size(), " inputs, wanted ", tensors + operands,
          " for rule ", rule.name);
  require_one_shape(op, q, tensors);
  require_update_numbers(op, q);
  return {q.in.begin(), q.in.begin() + rule.output_count};
}

inline double weight_update_flops(const OpQuery& q) { return update_flops(q, *find_rule(q)); }

// A use of an op for the generic tests, whatever the rule.
struct WeightUse {
  Type weights;
  std::vector<Type> operands;
  Attributes attributes;
};

// At least one example for every rule and one for every use; the two roundings take turns.
inline std::vector<Example> weight_update_examples(const std::vector<WeightUse>& uses) {
  std::vector<Example> all;
  for (std::size_t k = 0; k < std::max(uses.size(), std::size(kUpdateRules)); ++k) {
    const UpdateRule& rule = *kUpdateRules[k % std::size(kUpdateRules)];
    const WeightUse& use = uses[k % uses.size()];
    std::vector<Type> in(static_cast<std::size_t>(rule.input_count), use.weights);
    in.insert(in.end(), use.operands.begin(), use.operands.end());
    Attributes attributes = use.attributes;
    attributes.set("rule", std::string(rule.name));
    attributes.set("weight_decay", 0.125);
    attributes.set("rounding", std::string(k % 2 == 0 ? "nearest" : "stochastic"));
    attributes.set("key", static_cast<std::int64_t>(k));
    all.push_back({in, attributes});
  }
  return all;
}

}  // namespace thimble::ops
