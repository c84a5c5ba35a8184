// Every channel of every sample times a number of its own: the end of a squeeze-and-excitation.
#include "ops/scale_channels.h"
#include "ir/grad_builder.h"
#include "ops/example_types.h"

namespace thimble::ops::scale_channels {
namespace {

constexpr std::string_view kName = "scale_channels";

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 2);
  require_image(kName, "x", q.in[0]);
  require_floating(kName, "s", q.in[1]);
  require_shape(kName, "s", q.in[1], channel_shape(q.in[0]));
  require_scale_dtype(kName, "s", q.in[1].dtype, q.in[0]);
  return {q.in[0]};
}

void gradient(GradBuilder& g) {
  if (g.wants(0)) g.give(0, g.apply("scale_channels", {g.grad(), g.in(1)}));
  if (g.wants(1)) {
    const std::string dtype(name_of(g.type(g.in(1)).dtype));
    g.give(1, g.apply("scale_channels_grad", {g.in(0), g.grad()}, {{"dtype", dtype}}));
  }
}
constexpr GradientRule kGradients[] = {{"from_input", gradient}};

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) { return static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const Shape& x = call.in[0].shape;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    store(call.out[0], i, load(call.in[0], i) * load(call.in[1], channel_index(x, i)));
  }
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 7}), f32({2, 7})}, {}},
          {{f32({3, 1, 1, 4}), f32({3, 4})}, {}},
          {{f32({1, 4, 4, 33}), f32({1, 33})}, {}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y[b, h, w, c] = x[b, h, w, c] * s[b, c]",
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::scale_channels
