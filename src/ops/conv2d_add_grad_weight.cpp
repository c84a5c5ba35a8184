// Adds the gradient of a convolution's weights to its sum over the microbatches of an iteration, so that the gradient
// of one microbatch is never stored.
#include "ops/conv2d_weight_sum.h"
#include "ops/example_types.h"
#include "ops/rounding.h"

namespace thimble::ops::conv2d_add_grad_weight {
namespace {

constexpr std::string_view kName = "conv2d_add_grad_weight";
// The total's shape says how large the kernel is.
constexpr AttributeDef kAttributes[] = {kStrideAttribute,
                                        kPaddingAttribute,
                                        kDilationAttribute,
                                        kGroupsAttribute,
                                        {"rounding", AttributeKind::word, "nearest"},
                                        {"key", AttributeKind::integer, "0"}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 3, 3);
  require_image(kName, "total", q.in[0]);
  require_image(kName, "x", q.in[1]);
  require_image(kName, "dy", q.in[2]);
  require_shape_for(kName, "dy", q.in[2], conv2d_shape(kName, q, q.in[1].shape, q.in[0].shape).y, q);
  require_rounding(kName, q);
  return {q.in[0]};
}

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) {
  return conv2d_shape(kName, q, q.in[1].shape, q.in[0].shape).flops() + static_cast<double>(q.in[0].shape.count());
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const Rounding rounding = rounding_of(q, *call.scalars);
  const Conv2dShape s = conv2d_shape(kName, q, call.in[1].shape, call.in[0].shape);
  const auto source = [&](std::int64_t i) { return load(call.in[1], i); };
  for_weight_gradient(s, source, call.in[2], [&](std::int64_t place, double sum) {
    store_rounded(call.out[0], place, load(call.in[0], place) + sum, rounding, place, 0);
  });
}

std::vector<Example> examples() {
  return {
      {{f32({3, 3, 3, 5}), f32({2, 5, 4, 3}), f32({2, 5, 4, 5})}, {{"padding", 1}}},
      {{f32({1, 1, 4, 6}), f32({1, 7, 6, 4}), f32({1, 4, 3, 6})},
       {{"stride", 2}, {"rounding", std::string("stochastic")}, {"key", 7}}},
      {{f32({7, 7, 3, 4}), f32({1, 9, 8, 3}), f32({1, 5, 4, 4})}, {{"stride", 2}, {"padding", 3}}},
      {{f32({3, 3, 2, 6}), f32({2, 6, 7, 4}), f32({2, 3, 4, 6})}, {{"groups", 2}, {"stride", 2}, {"padding", 1}}},
      {{f32({3, 3, 1, 6}), f32({2, 5, 5, 6}), f32({2, 5, 5, 6})},
       {{"groups", 6}, {"padding", 1}, {"rounding", std::string("stochastic")}, {"key", 3}}},
      {{f32({3, 3, 2, 3}), f32({1, 8, 9, 2}), f32({1, 8, 9, 3})}, {{"dilation", 2}, {"padding", 2}}},
      {{f32({3, 3, 40, 52}), f32({1, 3, 3, 40}), f32({1, 3, 3, 52})}, {{"padding", 1}}},
  };
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "total' = total + sum over samples and windows of x * dy",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .in_place = kInPlace,
                                    .is_update = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::conv2d_add_grad_weight
