// Fully connected layer with an optional bias and rectifier.
#include "ops/activation.h"
#include "ops/example_types.h"

namespace thimble::ops::linear {
namespace {

constexpr std::string_view kName = "linear";
constexpr AttributeDef kAttributes[] = {kActivationAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 3);
  const Type& x = q.in[0];
  const Type& w = q.in[1];
  require_rank(kName, "x", x, 2);
  require_rank(kName, "w", w, 2);
  require_activation(kName, q);
  require(x.shape[1] == w.shape[0], kName, ": x is ", x, " and w is ", w, ", wanted as many rows in w as columns in x");
  if (q.in.size() == 3) {
    require_floating(kName, "bias", q.in[2]);
    require_shape(kName, "bias", q.in[2], {w.shape[1]});
  }
  return {{x.dtype, {x.shape[0], w.shape[1]}}};
}

Attributes with_dtype(const Type& type, Attributes attributes) {
  attributes.set("dtype", std::string(name_of(type.dtype)));
  return attributes;
}

void gradient(GradBuilder& g) {
  const ValueId dy = gradient_before_activation(g);
  if (g.wants(0)) g.give(0, g.apply("matmul", {dy, g.in(1)}, with_dtype(g.type(g.in(0)), {{"transpose_b", 1}})));
  if (g.wants(1)) g.give(1, g.apply("matmul", {g.in(0), dy}, with_dtype(g.type(g.in(1)), {{"transpose_a", 1}})));
  if (g.input_count() == 3 && g.wants(2)) g.give(2, g.apply("channel_sum", {dy}, with_dtype(g.type(g.in(2)), {})));
}
constexpr GradientRule kGradients[] = {{"from_input", gradient}};

double flops(const OpQuery& q) {
  return 2.0 * static_cast<double>(q.in[0].shape.count()) * static_cast<double>(q.in[1].shape[1]);
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const Activation activation = activation_of(q);
  const std::int64_t batch = call.in[0].shape[0], inner = call.in[1].shape[0], outer = call.in[1].shape[1];
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t o = 0; o < outer; ++o) {
      double sum = call.in.size() == 3 ? load(call.in[2], o) : 0;
      for (std::int64_t c = 0; c < inner; ++c) sum += load(call.in[0], b * inner + c) * load(call.in[1], c * outer + o);
      store(call.out[0], b * outer + o, activate(activation, sum));
    }
  }
}

std::vector<Example> examples() {
  return {{{f32({3, 5}), f32({5, 7})}, {}},
          {{f32({4, 6}), f32({6, 3}), f32({3})}, {{"activation", "relu"}}},
          {{f32({4, 40}), f32({40, 5})}, {{"activation", "relu6"}}},
          {{f32({1, 17}), f32({17, 10}), f32({10})}, {}},
          {{f32({2, 1}), f32({1, 1})}, {}},
          {{f32({9, 33}), f32({33, 19}), f32({19})}, {}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = act(x w + bias)",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::linear
