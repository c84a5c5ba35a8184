// A number for each channel added to every place: the bias of what has none of its own, such as a transposed
// convolution.
#include "ir/grad_builder.h"
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::add_bias {
namespace {

constexpr std::string_view kName = "add_bias";

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 2);
  require_floating(kName, "x", q.in[0]);
  require_not_empty(kName, "x", q.in[0]);
  require(q.in[0].shape.rank() >= 2, kName, ": x is ", q.in[0], ", wanted at least two dimensions");
  require_floating(kName, "bias", q.in[1]);
  require_shape(kName, "bias", q.in[1], {q.in[0].shape.at(-1)});
  return {q.in[0]};
}

// dx = dy; neither input is read
void gradient(GradBuilder& g) {
  if (g.wants(0)) g.give(0, g.grad());
  if (g.wants(1))
    g.give(1, g.apply("channel_sum", {g.grad()}, {{"dtype", std::string(name_of(g.type(g.in(1)).dtype))}}));
}
constexpr GradientRule kGradients[] = {{"linear", gradient}};

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) { return static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const std::int64_t channels = call.in[1].shape.count();
  for (std::int64_t i = 0; i < call.in[0].shape.count(); ++i) {
    store(call.out[0], i, load(call.in[0], i) + load(call.in[1], i % channels));
  }
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 2, 5}), f32({5})}, {}}, {{f32({3, 17}), f32({17})}, {}}, {{f32({1, 1}), f32({1})}, {}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y[..., c] = x[..., c] + bias[c]",
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::add_bias
