// Group normalization: statistics per sample and group of channels, so samples do not influence each other.
#include "ops/example_types.h"
#include "ops/norm_grad.h"

namespace thimble::ops::group_norm {
namespace {

constexpr std::string_view kName = "group_norm";
constexpr AttributeDef kAttributes[] = {{"groups"}, kEpsAttribute, kActivationAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 3, 3);
  require_norm_input(kName, q.in[0]);
  require_channel_vector(kName, "gamma", q.in[1], q.in[0]);
  require_channel_vector(kName, "beta", q.in[2], q.in[0]);
  require_eps(kName, q);
  require_activation(kName, q);
  const Type statistic = statistic_type(q.in[0], require_groups(kName, q, q.in[0]));
  return {q.in[0], statistic, statistic};
}

void gradient(GradBuilder& g) {
  const Attributes& attributes = g.attributes();
  give_norm_gradients(g, "group_norm_grad",
                      {{"groups", attributes.integer("groups")}, {"activation", attributes.word("activation")}});
}
constexpr GradientRule kGradients[] = {{"from_input", gradient}};

double flops(const OpQuery& q) { return 8.0 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const NormShape shape(call.in[0].shape, q.integer("groups"));
  store_moments(shape, call.in[0], q.number("eps"), call.out[1], call.out[2]);
  store_normalized({shape, call.in[0], call.out[1], call.out[2], call.in[1], call.in[2]}, activation_of(q),
                   call.out[0]);
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 4}), f32({4}), f32({4})}, {{"groups", 2}}},
          {{f32({3, 2, 2, 6}), f32({6}), f32({6})}, {{"groups", 3}, {"activation", "relu"}}},
          {{f32({2, 3, 3, 5}), f32({5}), f32({5})}, {{"groups", 1}, {"eps", 1e-3}}},
          {{f32({2, 4, 3, 3}), f32({3}), f32({3})}, {{"groups", 3}}},
          {{f32({4, 8}), f32({8}), f32({8})}, {{"groups", 2}, {"activation", "relu"}}},
          {{f32({3, 3, 2, 6}), f32({6}), f32({6})}, {{"groups", 2}, {"activation", "relu6"}}},
          {{f32({2, 4, 4, 32}), f32({32}), f32({32})}, {{"groups", 8}, {"activation", "relu"}}}};
}

}  // namespace

extern constinit const OpDef def = {
    .name = kName,
    .formula = "y = act((x - mean) * rstd * gamma + beta), mean and rstd per sample and group",
    .attributes = kAttributes,
    .infer = infer,
    .gradients = kGradients,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::group_norm
