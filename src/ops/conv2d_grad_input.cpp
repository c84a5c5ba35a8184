// Gradient of a convolution with respect to its input, alone or added to another gradient; also the transposed
// convolution of networks that decode, which is the same function and has gradients of its own.
#include "ir/grad_builder.h"
#include "ops/conv2d_shape.h"
#include "ops/example_types.h"

namespace thimble::ops::conv2d_grad_input {
namespace {

constexpr std::string_view kName = "conv2d_grad_input";
constexpr AttributeDef kAttributes[] = {kStrideAttribute, kPaddingAttribute, kDilationAttribute,
                                        kGroupsAttribute, {"height"},        {"width"}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 3);
  const Type& dy = q.in[0];
  const Type& w = q.in[1];
  require_image(kName, "dy", dy);
  require_image(kName, "w", w);
  const Shape x = {dy.shape[0], integer_between(kName, q, "height", 1, kMaxExtent),
                   integer_between(kName, q, "width", 1, kMaxExtent),
                   w.shape[2] * integer_between(kName, q, "groups", 1, kMaxExtent)};
  require_image(kName, "dx", {dy.dtype, x});
  require_shape_for(kName, "dy", dy, conv2d_shape(kName, q, x, w.shape).y, q);
  if (q.in.size() > 2) require_type(kName, "addend", q.in[2], {dy.dtype, x});
  return {{dy.dtype, x}};
}

constexpr InPlacePair kInPlace[] = {{0, 2}};

// The function is linear in dy and in w. As it is the transpose of a convolution, its own transpose is that
// convolution.
void gradient(GradBuilder& g) {
  Attributes attributes;
  for (const std::string_view name : {"stride", "padding", "dilation", "groups"}) {
    attributes.set(name, g.attributes().integer(name));
  }
  if (g.wants(0)) g.give(0, g.apply("conv2d", {g.grad(), g.in(1)}, attributes));
  if (g.input_count() > 2 && g.wants(2)) g.give(2, g.grad());
  if (!g.wants(1)) return;
  const Type w = g.type(g.in(1));
  attributes.set("kernel_height", w.shape[0]);
  attributes.set("kernel_width", w.shape[1]);
  attributes.set("dtype", std::string(name_of(w.dtype)));
  g.give(1, g.apply("conv2d_grad_weight", {g.grad(), g.in(0)}, attributes));
}
constexpr GradientRule kGradients[] = {{"from_input", gradient}};

double flops(const OpQuery& q) { return conv2d_shape(kName, q, q.out[0].shape, q.in[1].shape).flops(); }

// sum over the windows that see the element of dy * w
double element(const Conv2dShape& s, const Call& call, std::int64_t b, std::int64_t h, std::int64_t w,
               std::int64_t channel) noexcept {
  const std::int64_t c = channel % s.w[2];
  const std::int64_t first_out = channel / s.w[2] * s.out_channels_per_group();
  double sum = 0;
  for (std::int64_t i = 0; i < s.w[0]; ++i) {
    const std::int64_t row = window_at(h + s.padding - i * s.dilation, s.stride, s.y[1]);
    if (row < 0) continue;
    for (std::int64_t j = 0; j < s.w[1]; ++j) {
      const std::int64_t column = window_at(w + s.padding - j * s.dilation, s.stride, s.y[2]);
      if (column < 0) continue;
      for (std::int64_t o = first_out; o < first_out + s.out_channels_per_group(); ++o) {
        sum += load(call.in[0], offset_of(s.y, b, row, column, o)) * load(call.in[1], offset_of(s.w, i, j, c, o));
      }
    }
  }
  return sum;
}

void add_element(const Call& call, std::int64_t place, double sum) noexcept {
  store(call.out[0], place, call.in.size() > 2 ? load(call.in[2], place) + sum : sum);
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const Conv2dShape s = conv2d_shape(kName, q, call.out[0].shape, call.in[1].shape);
  for (std::int64_t b = 0; b < s.x[0]; ++b) {
    for (std::int64_t h = 0; h < s.x[1]; ++h) {
      for (std::int64_t w = 0; w < s.x[2]; ++w) {
        for (std::int64_t c = 0; c < s.x[3]; ++c)
          add_element(call, offset_of(s.x, b, h, w, c), element(s, call, b, h, w, c));
      }
    }
  }
}

std::vector<Example> examples() {
  return {
      {{f32({2, 5, 4, 5}), f32({3, 3, 3, 5})}, {{"padding", 1}, {"height", 5}, {"width", 4}}},
      {{f32({1, 4, 3, 6}), f32({1, 1, 4, 6})}, {{"stride", 2}, {"height", 7}, {"width", 6}}},
      {{f32({1, 5, 4, 4}), f32({7, 7, 3, 4})}, {{"stride", 2}, {"padding", 3}, {"height", 9}, {"width", 8}}},
      {{f32({2, 3, 4, 6}), f32({3, 3, 2, 6})},
       {{"groups", 2}, {"stride", 2}, {"padding", 1}, {"height", 6}, {"width", 7}}},
      {{f32({2, 5, 5, 6}), f32({3, 3, 1, 6})}, {{"groups", 6}, {"padding", 1}, {"height", 5}, {"width", 5}}},
      {{f32({1, 8, 9, 3}), f32({3, 3, 2, 3})}, {{"dilation", 2}, {"padding", 2}, {"height", 8}, {"width", 9}}},
      {{f32({1, 3, 3, 4}), f32({3, 2, 2, 4})},
       {{"dilation", 3}, {"padding", 1}, {"stride", 2}, {"groups", 2}, {"height", 9}, {"width", 7}}},
      {{f32({2, 5, 4, 5}), f32({3, 3, 19, 5}), f32({2, 5, 4, 19})}, {{"padding", 1}, {"height", 5}, {"width", 4}}},
      {{f32({1, 4, 3, 6}), f32({1, 1, 35, 6}), f32({1, 7, 6, 35})}, {{"stride", 2}, {"height", 7}, {"width", 6}}},
      {{f32({2, 3, 4, 6}), f32({3, 3, 1, 6}), f32({2, 6, 7, 6})},
       {{"groups", 6}, {"stride", 2}, {"padding", 1}, {"height", 6}, {"width", 7}}},
  };
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dx = (addend +) sum over the windows that see x of dy * w",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::conv2d_grad_input
