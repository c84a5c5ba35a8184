// Statistics that a convolution gathers of what it makes, for the batch norm that reads it next: mean and rstd as
// 'batch_moments' gives them, two more outputs. The compiler asks for them after gradients exist; nothing
// differentiates through them. Samples then influence each other, which the op does not state (batch_coupled): that is
// asked of models, before any pass.
#pragma once

#include "ops/norm.h"

namespace thimble::ops {

constexpr AttributeDef kMomentsAttribute = {"moments_eps", AttributeKind::number, "0"};  // 0: none are gathered

inline std::vector<Type> with_moments(std::string_view op, const OpQuery& q, const Type& y) {
  const double eps = q.number(kMomentsAttribute.name);
  require(std::isfinite(eps) && eps >= 0, op, ": attribute '", kMomentsAttribute.name, "' is ", eps,
          ", wanted a positive number, or 0 for no moments");
  if (eps == 0) return {y};
  require_not_empty(op, "y", y);
  const Type statistic = statistic_type(y, 0);
  return {y, statistic, statistic};
}

inline double moments_flops(const OpQuery& q) {
  return q.out.size() == 1 ? 0 : 4.0 * static_cast<double>(q.out[0].shape.count());
}

inline void store_out_moments(const OpQuery& q, const Call& call) noexcept {
  if (call.out.size() == 1) return;
  store_moments(NormShape(call.out[0].shape, 0), call.out[0], q.number(kMomentsAttribute.name), call.out[1],
                call.out[2]);
}

}  // namespace thimble::ops
