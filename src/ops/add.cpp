// Sum of two tensors, as where a residual joins, with an optional rectifier.
#include "ops/activation.h"
#include "ops/example_types.h"

namespace thimble::ops::add {
namespace {

constexpr std::string_view kName = "add";
constexpr AttributeDef kAttributes[] = {kActivationAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 2);
  require_floating(kName, "a", q.in[0]);
  require_type(kName, "b", q.in[1], q.in[0]);
  require_activation(kName, q);
  return {q.in[0]};
}

// Both inputs receive the same value; nothing is copied.
void gradient(GradBuilder& g) {
  const ValueId d = gradient_before_activation(g);
  if (g.wants(0)) g.give(0, d);
  if (g.wants(1)) g.give(1, d);
}
constexpr GradientRule kGradients[] = {{"from_output", gradient}};

constexpr InPlacePair kInPlace[] = {{0, 0}, {0, 1}};

double flops(const OpQuery& q) { return static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const Activation activation = activation_of(q);
  for (std::int64_t i = 0; i < call.out[0].shape.count(); ++i) {
    store(call.out[0], i, activate(activation, load(call.in[0], i) + load(call.in[1], i)));
  }
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 7}), f32({2, 3, 5, 7})}, {}},
          {{f32({2, 3, 3, 5}), f32({2, 3, 3, 5})}, {{"activation", "relu"}}},
          {{f32({1}), f32({1})}, {}},
          {{f32({4, 19}), f32({4, 19})}, {{"activation", "relu"}}},
          {{f32({3, 23}), f32({3, 23})}, {{"activation", "relu6"}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = act(a + b)",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::add
