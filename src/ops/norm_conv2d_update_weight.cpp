// Updates the weights of 'norm_conv2d' by their gradient, which is never stored.
#include "ops/conv2d_weight_sum.h"
#include "ops/example_types.h"
#include "ops/norm_source.h"
#include "ops/weight_update.h"

namespace thimble::ops::norm_conv2d_update_weight {
namespace {

constexpr std::string_view kName = "norm_conv2d_update_weight";
constexpr auto kAttributes = joined({kStrideAttribute, kPaddingAttribute, kDilationAttribute, kGroupsAttribute,
                                     kNormGroupsAttribute, kNormActivationAttribute},
                                    kRuleAttributes);

std::vector<Type> infer(const OpQuery& q) {
  std::vector<Type> out = infer_weight_update(kName, q, 6);
  const Type &x = q.in[first_operand(q)], &dy = q.in.back();
  require_image(kName, "the parameter", q.in[0]);
  require_image(kName, "x", x);
  require_norm_source(kName, q, first_operand(q));
  require_image(kName, "dy", dy);
  require_shape_for(kName, "dy", dy, conv2d_shape(kName, q, x.shape, q.in[0].shape).y, q);
  return out;
}

double flops(const OpQuery& q) {
  const Shape& x = q.in[first_operand(q)].shape;
  return conv2d_shape(kName, q, x, q.in[0].shape).flops() + 4.0 * static_cast<double>(x.count()) +
         weight_update_flops(q);
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const std::size_t source = first_operand(q);
  const DenseUpdate update(q, call, *find_rule(q));
  for_weight_gradient(conv2d_shape(kName, q, call.in[source].shape, call.in[0].shape), norm_source(q, call, source),
                      call.in.back(), [&](std::int64_t place, double sum) { update.apply(place, sum); });
}

std::vector<Example> examples() {
  return weight_update_examples({{f32({3, 3, 3, 5}),
                                  {f32({2, 5, 4, 3}), f32({3}), f32({3}), f32({3}), f32({3}), f32({2, 5, 4, 5})},
                                  {{"padding", 1}, {"norm_activation", "relu"}}},
                                 {f32({1, 1, 8, 6}),
                                  {f32({2, 7, 6, 8}), f32({2, 4}), f32({2, 4}), f32({8}), f32({8}), f32({2, 4, 3, 6})},
                                  {{"stride", 2}, {"norm_groups", 4}}},
                                 {f32({3, 3, 1, 6}),
                                  {f32({2, 5, 5, 6}), f32({6}), f32({6}), f32({6}), f32({6}), f32({2, 5, 5, 6})},
                                  {{"groups", 6}, {"padding", 1}, {"norm_activation", "relu6"}}}});
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula =
                                        "the update named by 'rule' with g = sum over samples and windows of "
                                        "act((x - mean) * rstd * gamma + beta) * dy",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .in_place = kUpdatePairs,
                                    .is_update = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::norm_conv2d_update_weight
