// Two-dimensional convolution (cross-correlation, as everywhere in the field) with an optional bias and rectifier, and
// with the moments of what it makes where they are asked for.
#include "ops/conv2d_sum.h"
#include "ops/conv_moments.h"
#include "ops/example_types.h"

namespace thimble::ops::conv2d {
namespace {

constexpr std::string_view kName = "conv2d";
constexpr AttributeDef kAttributes[] = {kStrideAttribute, kPaddingAttribute,    kDilationAttribute,
                                        kGroupsAttribute, kActivationAttribute, kMomentsAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 3);
  require_image(kName, "x", q.in[0]);
  require_image(kName, "w", q.in[1]);
  require_activation(kName, q);
  const Conv2dShape s = conv2d_shape(kName, q, q.in[0].shape, q.in[1].shape);
  if (q.in.size() == 3) {
    require_floating(kName, "bias", q.in[2]);
    require_shape(kName, "bias", q.in[2], {s.w[3]});
  }
  return with_moments(kName, q, {q.in[0].dtype, s.y});
}

// dx reads w only, dw reads x only, dbias neither: whoever does not want a gradient does not keep its operand.
void gradient(GradBuilder& g) {
  const ValueId dy = gradient_before_activation(g);
  Attributes attributes;
  for (const std::string_view name : {"stride", "padding", "dilation", "groups"}) {
    attributes.set(name, g.attributes().integer(name));
  }
  const Shape x = g.type(g.in(0)).shape;
  const Type w = g.type(g.in(1));
  if (g.wants(0)) {
    Attributes more = attributes;
    more.set("height", x[1]);
    more.set("width", x[2]);
    g.give(0, g.apply("conv2d_grad_input", {dy, g.in(1)}, more));
  }
  if (g.wants(1)) {
    Attributes more = attributes;
    more.set("kernel_height", w.shape[0]);
    more.set("kernel_width", w.shape[1]);
    more.set("dtype", std::string(name_of(w.dtype)));
    g.give(1, g.apply("conv2d_grad_weight", {g.in(0), dy}, more));
  }
  if (g.input_count() == 3 && g.wants(2)) {
    g.give(2, g.apply("channel_sum", {dy}, {{"dtype", std::string(name_of(g.type(g.in(2)).dtype))}}));
  }
}
constexpr GradientRule kGradients[] = {{"from_input", gradient}};

double flops(const OpQuery& q) {
  return conv2d_shape(kName, q, q.in[0].shape, q.in[1].shape).flops() + moments_flops(q);
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const TensorView& x = call.in[0];
  convolve(
      conv2d_shape(kName, q, x.shape, call.in[1].shape), [&](std::int64_t i) { return load(x, i); }, call.in[1],
      call.in.size() == 3 ? &call.in[2] : nullptr, activation_of(q), call.out[0]);
  store_out_moments(q, call);
}

std::vector<Example> examples() {
  return {
      {{f32({2, 5, 4, 3}), f32({3, 3, 3, 5})}, {{"padding", 1}}},
      {{f32({3, 3, 5, 7}), f32({1, 1, 7, 4})}, {}},
      {{f32({1, 7, 6, 4}), f32({1, 1, 4, 6}), f32({6})}, {{"stride", 2}}},
      {{f32({1, 9, 8, 3}), f32({7, 7, 3, 4}), f32({4})}, {{"stride", 2}, {"padding", 3}, {"activation", "relu"}}},
      {{f32({2, 6, 7, 4}), f32({3, 3, 2, 6})}, {{"groups", 2}, {"stride", 2}, {"padding", 1}}},
      {{f32({2, 5, 5, 6}), f32({3, 3, 1, 6}), f32({6})}, {{"groups", 6}, {"padding", 1}, {"activation", "relu"}}},
      {{f32({1, 4, 5, 24}), f32({3, 3, 24, 7})}, {{"padding", 1}, {"activation", "relu6"}}},
      {{f32({1, 8, 9, 2}), f32({3, 3, 2, 3})}, {{"dilation", 2}, {"padding", 2}}},
      {{f32({1, 9, 7, 4}), f32({3, 2, 2, 4}), f32({4})},
       {{"dilation", 3}, {"padding", 1}, {"stride", 2}, {"groups", 2}}},
      {{f32({1, 1, 1, 1}), f32({3, 3, 1, 1})}, {{"padding", 1}}},
      {{f32({2, 8, 8, 16}), f32({3, 3, 16, 8})}, {{"padding", 1}}},
      {{f32({3, 9, 7, 5}), f32({3, 3, 5, 37})}, {{"padding", 1}, {"moments_eps", 1e-5}}},
      {{f32({5, 6, 7, 24}), f32({1, 1, 24, 70}), f32({70})}, {{"moments_eps", 1e-3}}},
      {{f32({2, 9, 11, 6}), f32({3, 3, 3, 10})}, {{"groups", 2}, {"stride", 2}, {"padding", 1}, {"moments_eps", 1e-5}}},
      {{f32({3, 8, 7, 21}), f32({3, 3, 1, 21})}, {{"groups", 21}, {"padding", 1}, {"moments_eps", 1e-5}}},
  };
}

}  // namespace

extern constinit const OpDef def = {
    .name = kName,
    .formula = "y = act(sum over taps and channels of x * w + bias); with moments_eps also mean and rstd of y",
    .attributes = kAttributes,
    .infer = infer,
    .gradients = kGradients,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::conv2d
