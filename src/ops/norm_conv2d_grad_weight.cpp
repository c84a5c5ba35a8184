// Gradient of 'norm_conv2d' with respect to its weights.
#include "ops/conv2d_weight_sum.h"
#include "ops/example_types.h"
#include "ops/norm_source.h"

namespace thimble::ops::norm_conv2d_grad_weight {
namespace {

constexpr std::string_view kName = "norm_conv2d_grad_weight";
constexpr AttributeDef kAttributes[] = {kStrideAttribute, kPaddingAttribute,    kDilationAttribute,
                                        kGroupsAttribute, {"kernel_height"},    {"kernel_width"},
                                        kDTypeAttribute,  kNormGroupsAttribute, kNormActivationAttribute};
constexpr std::size_t kGradient = 5;

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 6, 6);
  const Type &x = q.in[0], &dy = q.in[kGradient];
  require_image(kName, "x", x);
  require_norm_source(kName, q, 0);
  require_image(kName, "dy", dy);
  const Shape w = weight_shape(kName, q, x, dy);
  require_shape_for(kName, "dy", dy, conv2d_shape(kName, q, x.shape, w).y, q);
  return {{dtype_attribute(kName, q), w}};
}

double flops(const OpQuery& q) {
  return conv2d_shape(kName, q, q.in[0].shape, q.out[0].shape).flops() +
         4.0 * static_cast<double>(q.in[0].shape.count());
}

void reference(const OpQuery& q, const Call& call) noexcept {
  for_weight_gradient(conv2d_shape(kName, q, call.in[0].shape, call.out[0].shape), norm_source(q, call, 0),
                      call.in[kGradient], [&](std::int64_t place, double sum) { store(call.out[0], place, sum); });
}

std::vector<Example> examples() {
  return {{{f32({2, 5, 4, 3}), f32({3}), f32({3}), f32({3}), f32({3}), f32({2, 5, 4, 5})},
           {{"padding", 1}, {"kernel_height", 3}, {"kernel_width", 3}, {"norm_activation", "relu"}}},
          {{f32({2, 7, 6, 8}), f32({2, 4}), f32({2, 4}), f32({8}), f32({8}), f32({2, 4, 3, 6})},
           {{"stride", 2}, {"kernel_height", 1}, {"kernel_width", 1}, {"norm_groups", 4}}},
          {{f32({2, 6, 7, 20}), f32({20}), f32({20}), f32({20}), f32({20}), f32({2, 6, 7, 6})},
           {{"groups", 2}, {"padding", 1}, {"kernel_height", 3}, {"kernel_width", 3}, {"norm_activation", "relu6"}}},
          {{f32({2, 5, 5, 6}), f32({6}), f32({6}), f32({6}), f32({6}), f32({2, 5, 5, 6})},
           {{"groups", 6}, {"padding", 1}, {"kernel_height", 3}, {"kernel_width", 3}, {"norm_activation", "relu6"}}}};
}

}  // namespace

extern constinit const OpDef def = {
    .name = kName,
    .formula = "dw = sum over samples and windows of act((x - mean) * rstd * gamma + beta) * dy",
    .attributes = kAttributes,
    .infer = infer,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::norm_conv2d_grad_weight
