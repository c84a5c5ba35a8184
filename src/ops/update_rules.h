// The formulas of all parameter updates, in one place: the dense update ops, sparse_update and the ops that make a
// gradient and apply it at once (weight_update.h) apply them element by element. Each is computed in double from what
// was stored and rounded once, when it is written: p' uses the new state before the state is rounded. One more input
// than a rule has is a number that the gradient is multiplied by first (clip_scale).
#pragma once

#include <array>
#include <cmath>

#include "ops/rounding.h"

namespace thimble::ops {

// Numbers of one call: attributes of the op (zero where it has none of that name) and of the iteration.
struct UpdateNumbers {
  double learning_rate = 0;
  double weight_decay = 0;
  double momentum = 0;
  double beta1 = 0, beta2 = 0, eps = 0;
  double correction1 = 1,
         correction2 = 1;  // 1 - beta^t, t counting from 1: undoes the bias of moments that start at zero
};

// One element of every tensor the rule reads, in the order of the op's inputs without the gradient.
using UpdateElement = std::array<double, 3>;

struct UpdateRule {
  std::string_view name;
  int input_count = 1;   // tensors read besides the gradient
  int output_count = 1;  // tensors written: the first of those read
  double flops = 1;      // an element
  void (*apply)(UpdateElement&, double gradient, const UpdateNumbers&) noexcept = nullptr;
};

// p' = p - lr * (g + wd * p)
inline void apply_sgd(UpdateElement& e, double gradient, const UpdateNumbers& n) noexcept {
  e[0] -= n.learning_rate * (gradient + n.weight_decay * e[0]);
}

// v' = mu * v + g + wd * p;  p' = p - lr * v'
inline void apply_momentum(UpdateElement& e, double gradient, const UpdateNumbers& n) noexcept {
  e[1] = n.momentum * e[1] + (gradient + n.weight_decay * e[0]);
  e[0] -= n.learning_rate * e[1];
}

// d = g + wd * p;  v' = mu * v + d;  p' = p - lr * (d + mu * v')
inline void apply_nesterov(UpdateElement& e, double gradient, const UpdateNumbers& n) noexcept {
  const double direction = gradient + n.weight_decay * e[0];
  e[1] = n.momentum * e[1] + direction;
  e[0] -= n.learning_rate * (direction + n.momentum * e[1]);
}

// m' = b1 * m + (1 - b1) * g;  v' = b2 * v + (1 - b2) * g^2
// p' = p * (1 - lr * wd) - lr * (m' / c1) / (sqrt(v' / c2) + eps)
inline void apply_adamw(UpdateElement& e, double gradient, const UpdateNumbers& n) noexcept {
  e[1] = n.beta1 * e[1] + (1 - n.beta1) * gradient;
  e[2] = n.beta2 * e[2] + (1 - n.beta2) * gradient * gradient;
  const double denominator = std::sqrt(e[2] / n.correction2) + n.eps;
  e[0] = e[0] * (1 - n.learning_rate * n.weight_decay) - n.learning_rate * (e[1] / n.correction1) / denominator;
}

// Heavy-ball momentum split over the microbatches of an iteration: open, accumulate into v, close. Reads v, p.
// v' = mu * v + wd * p + g
inline void apply_momentum_open(UpdateElement& e, double gradient, const UpdateNumbers& n) noexcept {
  e[0] = n.momentum * e[0] + (gradient + n.weight_decay * e[1]);
}

// v' = v + g;  p' = p - lr * v'
inline void apply_momentum_close(UpdateElement& e, double gradient, const UpdateNumbers& n) noexcept {
  e[1] += gradient;
  e[0] -= n.learning_rate * e[1];
}

inline constexpr UpdateRule kSgd{"sgd", 1, 1, 4, apply_sgd};
inline constexpr UpdateRule kMomentum{"momentum", 2, 2, 6, apply_momentum};
inline constexpr UpdateRule kNesterov{"nesterov", 2, 2, 8, apply_nesterov};
inline constexpr UpdateRule kAdamw{"adamw", 3, 3, 16, apply_adamw};
inline constexpr UpdateRule kMomentumOpen{"momentum_open", 2, 1, 4, apply_momentum_open};
inline constexpr UpdateRule kMomentumClose{"momentum_close", 2, 2, 3, apply_momentum_close};
inline constexpr const UpdateRule* kUpdateRules[] = {&kSgd,   &kMomentum,     &kNesterov,
                                                     &kAdamw, &kMomentumOpen, &kMomentumClose};

// For ops that any rule may be asked of; numbers that the chosen one does not read are ignored.
inline constexpr AttributeDef kRuleAttributes[] = {{"rule", AttributeKind::word, ""},
                                                   {"momentum", AttributeKind::number, "0.9"},
                                                   {"weight_decay", AttributeKind::number, "0"},
                                                   {"beta1", AttributeKind::number, "0.9"},
                                                   {"beta2", AttributeKind::number, "0.999"},
                                                   {"eps", AttributeKind::number, "1e-8"},
                                                   {"rounding", AttributeKind::word, "nearest"},
                                                   {"key", AttributeKind::integer, "0"}};

// The rule that the attribute names; nullptr if there is none of that name.
inline const UpdateRule* find_rule(const OpQuery& q) noexcept {
  for (const UpdateRule* rule : kUpdateRules) {
    if (rule->name == q.word("rule")) return rule;
  }
  return nullptr;
}

inline const UpdateRule& require_rule(std::string_view op, const OpQuery& q) {
  const UpdateRule* rule = find_rule(q);
  require(rule != nullptr, op, ": attribute 'rule' is '", q.word("rule"),
          "', wanted sgd, momentum, nesterov, adamw, momentum_open or momentum_close");
  return *rule;
}

// Each output is the next version of the input at the same place.
inline constexpr InPlacePair kUpdatePairs[] = {{0, 0}, {1, 1}, {2, 2}};

inline void require_fraction(std::string_view op, const OpQuery& q, std::string_view name) {
  if (!q.attributes->has(name)) return;
  const double value = q.number(name);
  require(value >= 0 && value < 1, op, ": attribute '", name, "' is ", value, ", wanted at least 0 and less than 1");
}

// The comparisons are written so that NaN fails them.
inline void require_update_numbers(std::string_view op, const OpQuery& q) {
  for (const std::string_view name : {"momentum", "beta1", "beta2"}) require_fraction(op, q, name);
  if (q.attributes->has("weight_decay")) {
    const double decay = q.number("weight_decay");
    require(decay >= 0 && std::isfinite(decay), op, ": attribute 'weight_decay' is ", decay,
            ", wanted a number from 0");
  }
  if (q.attributes->has("eps")) require_eps(op, q);
  require_rounding(op, q);
}

inline UpdateNumbers update_numbers(const OpQuery& q, const RunScalars& scalars) {
  const auto number = [&](std::string_view name) { return q.attributes->has(name) ? q.number(name) : 0.0; };
  UpdateNumbers n{.learning_rate = static_cast<double>(scalars.learning_rate),
                  .weight_decay = number("weight_decay"),
                  .momentum = number("momentum"),
                  .beta1 = number("beta1"),
                  .beta2 = number("beta2"),
                  .eps = number("eps")};
  const auto t = static_cast<double>(scalars.iteration + 1);
  n.correction1 = 1 - std::pow(n.beta1, t);
  n.correction2 = 1 - std::pow(n.beta2, t);
  return n;
}

inline void require_scale(std::string_view op, const OpQuery& q, std::size_t input) {
  if (input >= q.in.size()) return;
  require_floating(op, "the gradient's scale", q.in[input]);
  require_shape(op, "the gradient's scale", q.in[input], {1});
}

inline double scale_at(const Call& call, std::size_t input) {
  return input < call.in.size() ? load(call.in[input], 0) : 1.0;
}

// The first `count` inputs are dense and of one shape; dtypes are free.
inline void require_one_shape(std::string_view op, const OpQuery& q, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    const std::string what = join_text("input ", k);
    require_floating(op, what, q.in[k]);
    require_shape(op, what, q.in[k], q.in[0].shape);
  }
}

// Inputs of a dense update: the rule's tensors, then the gradient, all of one shape, and its scale or nothing.
inline std::vector<Type> infer_update(std::string_view op, const OpQuery& q, const UpdateRule& rule) {
  const auto wanted = static_cast<std::size_t>(rule.input_count) + 1;
  require_inputs(op, q, wanted, wanted + 1);
  require_scale(op, q, wanted);
  require_one_shape(op, q, wanted);
  require_update_numbers(op, q);
  return {q.in.begin(), q.in.begin() + rule.output_count};
}

// One call of a rule on dense tensors: the first inputs of the call, and its outputs.
class DenseUpdate {
 public:
  DenseUpdate(const OpQuery& q, const Call& call, const UpdateRule& rule)
      : call_(call),
        rule_(rule),
        numbers_(update_numbers(q, *call.scalars)),
        rounding_(rounding_of(q, *call.scalars)) {}

  void apply(std::int64_t i, double gradient) const noexcept {
    UpdateElement element{};
    for (std::size_t k = 0; k < static_cast<std::size_t>(rule_.input_count); ++k) element[k] = load(call_.in[k], i);
    rule_.apply(element, gradient, numbers_);
    for (std::size_t k = 0; k < static_cast<std::size_t>(rule_.output_count); ++k)
      store_rounded(call_.out[k], i, element[k], rounding_, i, static_cast<int>(k));
  }

 private:
  const Call& call_;
  const UpdateRule& rule_;
  UpdateNumbers numbers_;
  Rounding rounding_;
};

inline void run_update(const OpQuery& q, const Call& call, const UpdateRule& rule) {
  const DenseUpdate update(q, call, rule);
  const auto inputs = static_cast<std::size_t>(rule.input_count);
  const std::int64_t count = call.in[0].shape.count();
  const double scale = scale_at(call, inputs + 1);
  for (std::int64_t i = 0; i < count; ++i) update.apply(i, scale * load(call.in[inputs], i));
}

inline double update_flops(const OpQuery& q, const UpdateRule& rule) {
  return rule.flops * static_cast<double>(q.in[0].shape.count());
}

// Small uses for the generic tests: every tensor of the rule and the gradient, of one shape.
inline std::vector<Example> update_examples(const UpdateRule& rule, const Attributes& attributes) {
  const auto inputs = static_cast<std::size_t>(rule.input_count) + 1;
  Attributes stochastic = attributes;
  stochastic.set("rounding", std::string("stochastic"));
  stochastic.set("key", std::int64_t{7});
  std::vector<Type> scaled(inputs, {DType::f32, {5, 59}});
  scaled.push_back({DType::f32, {1}});
  return {{std::vector<Type>(inputs, {DType::f32, {3, 3, 5, 7}}), attributes},
          {scaled, attributes},
          {std::vector<Type>(inputs, {DType::f32, {19}}), stochastic},
          {std::vector<Type>(inputs, {DType::f32, {1}}), attributes}};
}

}  // namespace thimble::ops
