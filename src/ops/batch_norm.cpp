// Batch normalization by the statistics of the batch at hand. Running statistics are updated by a node of their own.
#include "ops/example_types.h"
#include "ops/norm_grad.h"

namespace thimble::ops::batch_norm {
namespace {

constexpr std::string_view kName = "batch_norm";
constexpr AttributeDef kAttributes[] = {kEpsAttribute, kActivationAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 3, 3);
  require_norm_input(kName, q.in[0]);
  require_channel_vector(kName, "gamma", q.in[1], q.in[0]);
  require_channel_vector(kName, "beta", q.in[2], q.in[0]);
  require_eps(kName, q);
  require_activation(kName, q);
  const Type statistic = statistic_type(q.in[0], 0);
  return {q.in[0], statistic, statistic};
}

void gradient(GradBuilder& g) {
  give_norm_gradients(g, "batch_norm_grad", {{"activation", g.attributes().word("activation")}});
}
constexpr GradientRule kGradients[] = {{"from_input", gradient}};

double flops(const OpQuery& q) { return 8.0 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const NormShape shape(call.in[0].shape, 0);
  store_moments(shape, call.in[0], q.number("eps"), call.out[1], call.out[2]);
  store_normalized({shape, call.in[0], call.out[1], call.out[2], call.in[1], call.in[2]}, activation_of(q),
                   call.out[0]);
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 4}), f32({4}), f32({4})}, {}},
          {{f32({3, 2, 2, 7}), f32({7}), f32({7})}, {{"activation", "relu"}}},
          {{f32({6, 5}), f32({5}), f32({5})}, {{"eps", 1e-3}}},
          {{f32({9, 3}), f32({3}), f32({3})}, {{"activation", "relu"}}},
          {{f32({7, 2, 3, 5}), f32({5}), f32({5})}, {{"activation", "relu6"}}},
          {{f32({4, 3, 3, 1}), f32({1}), f32({1})}, {}},
          {{f32({2, 4, 5, 33}), f32({33}), f32({33})}, {{"activation", "relu"}, {"eps", 1e-3}}}};
}

}  // namespace

extern constinit const OpDef def = {
    .name = kName,
    .formula = "y = act((x - mean) * rstd * gamma + beta), mean and rstd per channel over the batch",
    .attributes = kAttributes,
    .infer = infer,
    .gradients = kGradients,
    .batch_coupled = true,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::batch_norm
