// The formulas of all updates and accumulations on blocks of f32. Dense and sparse kernels run the same code, so an
// element is updated to the same bits wherever it is stored.
#pragma once

#include "kernels/cpu/blocks.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr int kMaxUpdateTensors = 3;  // read besides the gradient

// Numbers of one call, every lane alike.
struct UpdateNumbers {
  Vec negative_rate, weight_decay, momentum;
  Vec beta1, beta2, rest1, rest2, eps;  // rest = 1 - beta
  Vec decay;                            // 1 - lr * weight_decay
  Vec negative_step;                    // -lr / (1 - beta1^t)
  Vec inverse_correction2;              // 1 / (1 - beta2^t)
};

using UpdateVectors = Vec[kMaxUpdateTensors];

// p' = p - lr * (g + wd * p)
struct SgdRule {
  static constexpr int kInputs = 1, kOutputs = 1;
  [[gnu::always_inline]] static void apply(UpdateVectors& e, Vec g, const UpdateNumbers& n) {
    e[0] = fma(n.negative_rate, fma(n.weight_decay, e[0], g), e[0]);
  }
};

// v' = mu * v + g + wd * p;  p' = p - lr * v'
struct MomentumRule {
  static constexpr int kInputs = 2, kOutputs = 2;
  [[gnu::always_inline]] static void apply(UpdateVectors& e, Vec g, const UpdateNumbers& n) {
    e[1] = fma(n.momentum, e[1], fma(n.weight_decay, e[0], g));
    e[0] = fma(n.negative_rate, e[1], e[0]);
  }
};

// d = g + wd * p;  v' = mu * v + d;  p' = p - lr * (d + mu * v')
struct NesterovRule {
  static constexpr int kInputs = 2, kOutputs = 2;
  [[gnu::always_inline]] static void apply(UpdateVectors& e, Vec g, const UpdateNumbers& n) {
    const Vec direction = fma(n.weight_decay, e[0], g);
    e[1] = fma(n.momentum, e[1], direction);
    e[0] = fma(n.negative_rate, fma(n.momentum, e[1], direction), e[0]);
  }
};

// m' = b1 * m + (1 - b1) * g;  v' = b2 * v + (1 - b2) * g^2;  p' = p * (1 - lr * wd) - lr / c1 * m' / (sqrt(v' / c2) +
// eps)
struct AdamwRule {
  static constexpr int kInputs = 3, kOutputs = 3;
  [[gnu::always_inline]] static void apply(UpdateVectors& e, Vec g, const UpdateNumbers& n) {
    e[1] = fma(n.beta1, e[1], mul(n.rest1, g));
    e[2] = fma(n.beta2, e[2], mul(mul(n.rest2, g), g));
    const Vec denominator = add(sqrt(mul(e[2], n.inverse_correction2)), n.eps);
    e[0] = fma(n.negative_step, div(e[1], denominator), mul(e[0], n.decay));
  }
};

// Reads v, p: v' = mu * v + wd * p + g
struct MomentumOpenRule {
  static constexpr int kInputs = 2, kOutputs = 1;
  [[gnu::always_inline]] static void apply(UpdateVectors& e, Vec g, const UpdateNumbers& n) {
    e[0] = fma(n.momentum, e[0], fma(n.weight_decay, e[1], g));
  }
};

// v' = v + g;  p' = p - lr * v'
struct MomentumCloseRule {
  static constexpr int kInputs = 2, kOutputs = 2;
  [[gnu::always_inline]] static void apply(UpdateVectors& e, Vec g, const UpdateNumbers& n) {
    e[1] = add(e[1], g);
    e[0] = fma(n.negative_rate, e[1], e[0]);
  }
};

struct AccumulateRule {
  static constexpr int kInputs = 1, kOutputs = 1;
  [[gnu::always_inline]] static void apply(UpdateVectors& e, Vec g, const UpdateNumbers&) { e[0] = add(e[0], g); }
};

// The first microbatch: what the total held belongs to the last iteration. Its input is not read.
struct ReplaceRule {
  static constexpr int kInputs = 0, kOutputs = 1;
  [[gnu::always_inline]] static void apply(UpdateVectors& e, Vec g, const UpdateNumbers&) { e[0] = g; }
};

// One block of every tensor: what is read, then what is written.
struct UpdateBlock {
  const float* in[kMaxUpdateTensors] = {};
  const float* gradient = nullptr;
  float* out[kMaxUpdateTensors] = {};
};

template <typename Rule>
void apply_rule(const UpdateBlock& block, std::int64_t count, const UpdateNumbers& numbers) {
  each_vector(0, count, [&](std::int64_t i, auto lanes) {
    UpdateVectors values;
    for (int k = 0; k < Rule::kInputs; ++k) values[k] = load(block.in[k] + i, lanes);
    Rule::apply(values, load(block.gradient + i, lanes), numbers);
    for (int k = 0; k < Rule::kOutputs; ++k) store(block.out[k] + i, values[k], lanes);
  });
}

struct UpdateRule {
  std::string_view name;
  int inputs = 0, outputs = 0;
  void (*apply)(const UpdateBlock&, std::int64_t count, const UpdateNumbers&) = nullptr;
};

template <typename Rule>
constexpr UpdateRule rule_of(std::string_view name) {
  return {name, Rule::kInputs, Rule::kOutputs, apply_rule<Rule>};
}

constexpr UpdateRule kAccumulate = rule_of<AccumulateRule>("accumulate"), kReplace = rule_of<ReplaceRule>("replace");
constexpr UpdateRule kUpdateRules[] = {rule_of<SgdRule>("sgd"),
                                       rule_of<MomentumRule>("momentum"),
                                       rule_of<NesterovRule>("nesterov"),
                                       rule_of<AdamwRule>("adamw"),
                                       rule_of<MomentumOpenRule>("momentum_open"),
                                       rule_of<MomentumCloseRule>("momentum_close")};

// nullptr if there is none of that name.
static inline const UpdateRule* find_rule(std::string_view name) {
  for (const UpdateRule& rule : kUpdateRules) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace thimble::kernels::THIMBLE_ISA
