// Updates the weights of a convolution by their gradient, which is never stored.
#include "ops/conv2d_weight_sum.h"
#include "ops/example_types.h"
#include "ops/weight_update.h"

namespace thimble::ops::conv2d_update_weight {
namespace {

constexpr std::string_view kName = "conv2d_update_weight";
// The weights' shape says how large the kernel is.
constexpr auto kAttributes =
    joined({kStrideAttribute, kPaddingAttribute, kDilationAttribute, kGroupsAttribute}, kRuleAttributes);

std::vector<Type> infer(const OpQuery& q) {
  std::vector<Type> out = infer_weight_update(kName, q, 2);
  const Type &x = q.in[first_operand(q)], &dy = q.in.back();
  require_image(kName, "the parameter", q.in[0]);
  require_image(kName, "x", x);
  require_image(kName, "dy", dy);
  require_shape_for(kName, "dy", dy, conv2d_shape(kName, q, x.shape, q.in[0].shape).y, q);
  return out;
}

double flops(const OpQuery& q) {
  return conv2d_shape(kName, q, q.in[first_operand(q)].shape, q.in[0].shape).flops() + weight_update_flops(q);
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const TensorView& x = call.in[first_operand(q)];
  const DenseUpdate update(q, call, *find_rule(q));
  for_weight_gradient(
      conv2d_shape(kName, q, x.shape, call.in[0].shape), [&](std::int64_t i) { return load(x, i); }, call.in.back(),
      [&](std::int64_t place, double sum) { update.apply(place, sum); });
}

std::vector<Example> examples() {
  return weight_update_examples(
      {{f32({3, 3, 3, 5}), {f32({2, 5, 4, 3}), f32({2, 5, 4, 5})}, {{"padding", 1}}},
       {f32({1, 1, 4, 6}), {f32({1, 7, 6, 4}), f32({1, 4, 3, 6})}, {{"stride", 2}}},
       {f32({7, 7, 3, 4}), {f32({1, 9, 8, 3}), f32({1, 5, 4, 4})}, {{"stride", 2}, {"padding", 3}}},
       {f32({3, 3, 2, 6}), {f32({2, 6, 7, 4}), f32({2, 3, 4, 6})}, {{"groups", 2}, {"stride", 2}, {"padding", 1}}},
       {f32({3, 3, 1, 6}), {f32({2, 5, 5, 6}), f32({2, 5, 5, 6})}, {{"groups", 6}, {"padding", 1}}},
       {f32({3, 3, 2, 3}), {f32({1, 8, 9, 2}), f32({1, 8, 9, 3})}, {{"dilation", 2}, {"padding", 2}}},
       {f32({3, 3, 40, 52}), {f32({1, 3, 3, 40}), f32({1, 3, 3, 52})}, {{"padding", 1}}}});
}

}  // namespace

extern constinit const OpDef def = {
    .name = kName,
    .formula = "the update named by 'rule' with g = sum over samples and windows of x * dy",
    .attributes = kAttributes,
    .infer = infer,
    .in_place = kUpdatePairs,
    .is_update = true,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::conv2d_update_weight
