// The second half of a norm: statistics are given. A residual may join before the rectifier. Recomputation and
// evaluation use it; nothing differentiates through it.
#include "ops/example_types.h"
#include "ops/norm.h"

namespace thimble::ops::normalize {
namespace {

constexpr std::string_view kName = "normalize";
constexpr AttributeDef kAttributes[] = {{"groups", AttributeKind::integer, "0"}, kActivationAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 5, 6);
  const Type& x = q.in[0];
  require_norm_input(kName, x);
  const std::int64_t groups = q.integer("groups") == 0 ? 0 : require_groups(kName, q, x);
  const Type statistic = statistic_type(x, groups);
  require_shape_for(kName, "mean", q.in[1], statistic.shape, q);
  require_type(kName, "mean", q.in[1], statistic);
  require_type(kName, "rstd", q.in[2], statistic);
  require_channel_vector(kName, "gamma", q.in[3], x);
  require_channel_vector(kName, "beta", q.in[4], x);
  if (q.in.size() > 5) require_type(kName, "addend", q.in[5], x);
  require_activation(kName, q);
  return {x};
}

constexpr InPlacePair kInPlace[] = {{0, 0}, {0, 5}};

double flops(const OpQuery& q) { return (q.in.size() > 5 ? 5.0 : 4.0) * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const NormShape shape(call.in[0].shape, q.integer("groups"));
  const NormOperands norm = {shape, call.in[0], call.in[1], call.in[2], call.in[3], call.in[4]};
  const Activation activation = activation_of(q);
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    const double addend = call.in.size() > 5 ? load(call.in[5], i) : 0;
    store(call.out[0], i, activate(activation, norm.before_activation(i) + addend));
  }
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 4}), f32({4}), f32({4}), f32({4}), f32({4})}, {}},
          {{f32({3, 2, 2, 7}), f32({7}), f32({7}), f32({7}), f32({7})}, {{"activation", "relu"}}},
          {{f32({3, 5, 2, 7}), f32({7}), f32({7}), f32({7}), f32({7})}, {{"activation", "relu6"}}},
          {{f32({6, 5}), f32({5}), f32({5}), f32({5}), f32({5})}, {}},
          {{f32({2, 3, 3, 6}), f32({2, 3}), f32({2, 3}), f32({6}), f32({6})}, {{"groups", 3}, {"activation", "relu"}}},
          {{f32({2, 4, 4, 32}), f32({2, 1}), f32({2, 1}), f32({32}), f32({32})}, {{"groups", 1}}},
          {{f32({3, 5, 2, 7}), f32({7}), f32({7}), f32({7}), f32({7}), f32({3, 5, 2, 7})}, {{"activation", "relu"}}},
          {{f32({2, 3, 3, 6}), f32({2, 3}), f32({2, 3}), f32({6}), f32({6}), f32({2, 3, 3, 6})}, {{"groups", 3}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = act((x - mean) * rstd * gamma + beta [+ addend])",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::normalize
