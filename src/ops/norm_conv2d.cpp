// Convolution of a normalised and rectified tensor that is never stored. The compiler puts it in the place of
// 'normalize' and 'conv2d' after gradients exist; nothing differentiates through it.
#include "ops/conv2d_sum.h"
#include "ops/conv_moments.h"
#include "ops/example_types.h"
#include "ops/norm_source.h"

namespace thimble::ops::norm_conv2d {
namespace {

constexpr std::string_view kName = "norm_conv2d";
constexpr AttributeDef kAttributes[] = {kStrideAttribute,         kPaddingAttribute,    kDilationAttribute,
                                        kGroupsAttribute,         kActivationAttribute, kNormGroupsAttribute,
                                        kNormActivationAttribute, kMomentsAttribute};
constexpr std::size_t kWeights = 5, kBias = 6;

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 6, 7);
  require_image(kName, "x", q.in[0]);
  require_norm_source(kName, q, 0);
  require_image(kName, "w", q.in[kWeights]);
  require_activation(kName, q);
  const Conv2dShape s = conv2d_shape(kName, q, q.in[0].shape, q.in[kWeights].shape);
  if (q.in.size() > kBias) {
    require_floating(kName, "bias", q.in[kBias]);
    require_shape(kName, "bias", q.in[kBias], {s.w[3]});
  }
  return with_moments(kName, q, {q.in[0].dtype, s.y});
}

double flops(const OpQuery& q) {
  return conv2d_shape(kName, q, q.in[0].shape, q.in[kWeights].shape).flops() +
         4.0 * static_cast<double>(q.in[0].shape.count()) + moments_flops(q);
}

void reference(const OpQuery& q, const Call& call) noexcept {
  convolve(conv2d_shape(kName, q, call.in[0].shape, call.in[kWeights].shape), norm_source(q, call, 0),
           call.in[kWeights], call.in.size() > kBias ? &call.in[kBias] : nullptr, activation_of(q), call.out[0]);
  store_out_moments(q, call);
}

std::vector<Example> examples() {
  return {{{f32({2, 5, 4, 3}), f32({3}), f32({3}), f32({3}), f32({3}), f32({3, 3, 3, 5})},
           {{"padding", 1}, {"norm_activation", "relu"}}},
          {{f32({1, 7, 6, 8}), f32({1, 4}), f32({1, 4}), f32({8}), f32({8}), f32({1, 1, 8, 6}), f32({6})},
           {{"stride", 2}, {"norm_groups", 4}, {"activation", "relu6"}}},
          {{f32({3, 6, 7, 20}), f32({3, 2}), f32({3, 2}), f32({20}), f32({20}), f32({3, 3, 10, 6})},
           {{"groups", 2}, {"padding", 1}, {"norm_groups", 2}, {"norm_activation", "relu6"}}},
          {{f32({3, 6, 7, 20}), f32({20}), f32({20}), f32({20}), f32({20}), f32({3, 3, 20, 33})},
           {{"padding", 1}, {"norm_activation", "relu"}, {"moments_eps", 1e-5}}},
          {{f32({3, 8, 7, 21}), f32({3, 7}), f32({3, 7}), f32({21}), f32({21}), f32({3, 3, 1, 21})},
           {{"groups", 21}, {"padding", 1}, {"norm_groups", 7}, {"norm_activation", "relu6"}, {"moments_eps", 1e-5}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula =
                                        "y = act(sum over taps and channels of act((x - mean) * rstd * gamma + beta) * "
                                        "w + bias); with moments_eps also mean and rstd of y",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::norm_conv2d
