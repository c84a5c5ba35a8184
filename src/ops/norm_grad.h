// Backward of batch norm and group norm. Inputs x, mean, rstd, gamma, beta, dy and, where dx is to be added to another
// gradient, that; outputs dx, dgamma, dbeta.
#pragma once

#include "ops/norm.h"

namespace thimble::ops {

inline std::vector<Type> infer_norm_grad(std::string_view op, const OpQuery& q, std::int64_t groups) {
  const Type& x = q.in[0];
  require_type(op, "mean", q.in[1], statistic_type(x, groups));
  require_type(op, "rstd", q.in[2], statistic_type(x, groups));
  require_channel_vector(op, "gamma", q.in[3], x);
  require_channel_vector(op, "beta", q.in[4], x);
  require_type(op, "dy", q.in[5], x);
  if (q.in.size() > 6) require_type(op, "addend", q.in[6], x);
  require_activation(op, q);
  return {x, q.in[3], q.in[4]};
}

// The norm's own rule: with a rectifier the mask comes from x, so y is not read and need not be kept.
inline void give_norm_gradients(GradBuilder& g, std::string_view op, const Attributes& attributes) {
  const std::vector<ValueId> d =
      g.apply_all(op, {g.in(0), g.out(1), g.out(2), g.in(1), g.in(2), g.grad(0)}, attributes);
  for (int k = 0; k < 3; ++k) {
    if (g.wants(k)) g.give(k, d[static_cast<std::size_t>(k)]);
  }
}

// The example of a gradient that is added to another.
inline Example with_addend(Example example) {
  example.in.push_back(example.in[0]);
  return example;
}

// With n the normalized x and d = dy where the rectifier let it pass:
//   dbeta = sum d, dgamma = sum d n (over a channel); dx = rstd (d gamma - mean(d gamma) - n mean(d gamma n)) (means
//   over a patch)
inline void norm_grad_reference(const OpQuery& q, const Call& call, std::int64_t groups) noexcept {
  const NormOperands n = {
      NormShape(call.in[0].shape, groups), call.in[0], call.in[1], call.in[2], call.in[3], call.in[4]};
  const Activation activation = activation_of(q);
  const auto passed = [&](std::int64_t i) {
    return lets_pass(activation, n.before_activation(i)) ? load(call.in[5], i) : 0.0;
  };
  for (std::int64_t c = 0; c < n.shape.channels; ++c) {
    double gamma_sum = 0, beta_sum = 0;
    for (std::int64_t i = c; i < n.shape.count(); i += n.shape.channels) {
      gamma_sum += passed(i) * n.centered(i);
      beta_sum += passed(i);
    }
    store(call.out[1], c, gamma_sum);
    store(call.out[2], c, beta_sum);
  }
  // dx may overwrite x or dy: it comes last, and a patch is written only after its sums are complete.
  for (std::int64_t p = 0; p < n.shape.patch_count(); ++p) {
    const Patch patch = n.shape.patch(p);
    const auto scaled = [&](std::int64_t i) { return passed(i) * load(n.gamma, n.shape.channel_of(i)); };
    double sum = 0, product_sum = 0;
    for_each_index(patch, [&](std::int64_t i) {
      sum += scaled(i);
      product_sum += scaled(i) * n.centered(i);
    });
    for_each_index(patch, [&](std::int64_t i) {
      const double dx = load(n.rstd, p) * (scaled(i) - (sum + n.centered(i) * product_sum) / patch.count());
      store(call.out[0], i, call.in.size() > 6 ? load(call.in[6], i) + dx : dx);
    });
  }
}

}  // namespace thimble::ops
