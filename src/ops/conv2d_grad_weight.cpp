// Gradient of a convolution with respect to its weights.
#include "ops/conv2d_weight_sum.h"
#include "ops/example_types.h"

namespace thimble::ops::conv2d_grad_weight {
namespace {

constexpr std::string_view kName = "conv2d_grad_weight";
constexpr AttributeDef kAttributes[] = {kStrideAttribute,  kPaddingAttribute, kDilationAttribute, kGroupsAttribute,
                                        {"kernel_height"}, {"kernel_width"},  kDTypeAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 2);
  const Type& x = q.in[0];
  const Type& dy = q.in[1];
  require_image(kName, "x", x);
  require_image(kName, "dy", dy);
  const Shape w = weight_shape(kName, q, x, dy);
  require_shape_for(kName, "dy", dy, conv2d_shape(kName, q, x.shape, w).y, q);
  return {{dtype_attribute(kName, q), w}};
}

double flops(const OpQuery& q) { return conv2d_shape(kName, q, q.in[0].shape, q.out[0].shape).flops(); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const Conv2dShape s = conv2d_shape(kName, q, call.in[0].shape, call.out[0].shape);
  for_weight_gradient(
      s, [&](std::int64_t i) { return load(call.in[0], i); }, call.in[1],
      [&](std::int64_t place, double sum) { store(call.out[0], place, sum); });
}

std::vector<Example> examples() {
  return {
      {{f32({2, 5, 4, 3}), f32({2, 5, 4, 5})}, {{"padding", 1}, {"kernel_height", 3}, {"kernel_width", 3}}},
      {{f32({1, 7, 6, 4}), f32({1, 4, 3, 6})}, {{"stride", 2}, {"kernel_height", 1}, {"kernel_width", 1}}},
      {{f32({1, 9, 8, 3}), f32({1, 5, 4, 4})},
       {{"stride", 2}, {"padding", 3}, {"kernel_height", 7}, {"kernel_width", 7}}},
      {{f32({2, 6, 7, 4}), f32({2, 3, 4, 6})},
       {{"groups", 2}, {"stride", 2}, {"padding", 1}, {"kernel_height", 3}, {"kernel_width", 3}}},
      {{f32({2, 5, 5, 6}), f32({2, 5, 5, 6})},
       {{"groups", 6}, {"padding", 1}, {"kernel_height", 3}, {"kernel_width", 3}}},
      {{f32({1, 8, 9, 2}), f32({1, 8, 9, 3})},
       {{"dilation", 2}, {"padding", 2}, {"kernel_height", 3}, {"kernel_width", 3}}},
      {{f32({1, 9, 7, 4}), f32({1, 3, 3, 4})},
       {{"dilation", 3}, {"padding", 1}, {"stride", 2}, {"groups", 2}, {"kernel_height", 3}, {"kernel_width", 2}}},
  };
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dw = sum over samples and windows of x * dy",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::conv2d_grad_weight
