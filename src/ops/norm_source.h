// The source of an op that reads act((x - mean) * rstd * gamma + beta) in the place of x, so that this is never stored.
// Its operands stand one behind the other, as in 'normalize': x, mean, rstd, gamma, beta.
#pragma once

#include "ops/norm.h"

namespace thimble::ops {

constexpr AttributeDef kNormGroupsAttribute = {"norm_groups", AttributeKind::integer, "0"};  // 0: batch norm
constexpr AttributeDef kNormActivationAttribute = {"norm_activation", AttributeKind::word, "none"};

inline void require_norm_source(std::string_view op, const OpQuery& q, std::size_t first) {
  const Type& x = q.in[first];
  const std::int64_t groups = integer_between(op, q, "norm_groups", 0, kMaxExtent);
  require(groups == 0 || x.shape[3] % groups == 0, op, ": x is ", x, ", wanted a number of channels that norm_groups ",
          groups, " divides");
  const Type statistic = statistic_type(x, groups);
  require_type(op, "mean", q.in[first + 1], statistic);
  require_type(op, "rstd", q.in[first + 2], statistic);
  require_channel_vector(op, "gamma", q.in[first + 3], x);
  require_channel_vector(op, "beta", q.in[first + 4], x);
  require_activation(op, q, "norm_activation");
}

// What is read in the place of element i of x.
struct NormSource {
  NormOperands operands;
  Activation activation = Activation::none;

  double operator()(std::int64_t i) const noexcept { return activate(activation, operands.before_activation(i)); }
};

inline NormSource norm_source(const OpQuery& q, const Call& call, std::size_t first) noexcept {
  const auto in = call.in.subspan(first, 5);
  return {{NormShape(in[0].shape, q.integer("norm_groups")), in[0], in[1], in[2], in[3], in[4]},
          activation_of(q, "norm_activation")};
}

}  // namespace thimble::ops
