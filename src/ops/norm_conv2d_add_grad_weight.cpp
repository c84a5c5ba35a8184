// Adds the gradient of the weights of 'norm_conv2d' to its sum over the microbatches of an iteration.
#include "ops/conv2d_weight_sum.h"
#include "ops/example_types.h"
#include "ops/norm_source.h"
#include "ops/rounding.h"

namespace thimble::ops::norm_conv2d_add_grad_weight {
namespace {

constexpr std::string_view kName = "norm_conv2d_add_grad_weight";
constexpr AttributeDef kAttributes[] = {kStrideAttribute,
                                        kPaddingAttribute,
                                        kDilationAttribute,
                                        kGroupsAttribute,
                                        {"rounding", AttributeKind::word, "nearest"},
                                        {"key", AttributeKind::integer, "0"},
                                        kNormGroupsAttribute,
                                        kNormActivationAttribute};
constexpr std::size_t kSource = 1, kGradient = 6;

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 7, 7);
  require_image(kName, "total", q.in[0]);
  require_image(kName, "x", q.in[kSource]);
  require_norm_source(kName, q, kSource);
  require_image(kName, "dy", q.in[kGradient]);
  require_shape_for(kName, "dy", q.in[kGradient], conv2d_shape(kName, q, q.in[kSource].shape, q.in[0].shape).y, q);
  require_rounding(kName, q);
  return {q.in[0]};
}

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) {
  return conv2d_shape(kName, q, q.in[kSource].shape, q.in[0].shape).flops() +
         static_cast<double>(q.in[0].shape.count()) + 4.0 * static_cast<double>(q.in[kSource].shape.count());
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const Rounding rounding = rounding_of(q, *call.scalars);
  const Conv2dShape s = conv2d_shape(kName, q, call.in[kSource].shape, call.in[0].shape);
  for_weight_gradient(s, norm_source(q, call, kSource), call.in[kGradient], [&](std::int64_t place, double sum) {
    store_rounded(call.out[0], place, load(call.in[0], place) + sum, rounding, place, 0);
  });
}

std::vector<Example> examples() {
  return {{{f32({3, 3, 3, 5}), f32({2, 5, 4, 3}), f32({3}), f32({3}), f32({3}), f32({3}), f32({2, 5, 4, 5})},
           {{"padding", 1}, {"norm_activation", "relu"}}},
          {{f32({1, 1, 8, 6}), f32({2, 7, 6, 8}), f32({2, 4}), f32({2, 4}), f32({8}), f32({8}), f32({2, 4, 3, 6})},
           {{"stride", 2}, {"rounding", std::string("stochastic")}, {"key", 7}, {"norm_groups", 4}}},
          {{f32({3, 3, 1, 6}), f32({2, 5, 5, 6}), f32({6}), f32({6}), f32({6}), f32({6}), f32({2, 5, 5, 6})},
           {{"groups", 6}, {"padding", 1}, {"norm_activation", "relu6"}}}};
}

}  // namespace

extern constinit const OpDef def = {
    .name = kName,
    .formula = "total' = total + sum over samples and windows of act((x - mean) * rstd * gamma + beta) * dy",
    .attributes = kAttributes,
    .infer = infer,
    .in_place = kInPlace,
    .is_update = true,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::norm_conv2d_add_grad_weight
