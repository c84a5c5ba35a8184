// Average over all positions of an image.
#include "ir/grad_builder.h"
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::global_avg_pool {
namespace {

constexpr std::string_view kName = "global_avg_pool";

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  require_image(kName, "x", q.in[0]);
  return {{q.in[0].dtype, {q.in[0].shape[0], q.in[0].shape[3]}}};
}

void gradient(GradBuilder& g) {
  const Shape x = g.type(g.in(0)).shape;
  g.give(0, g.apply("global_avg_pool_grad", {g.grad()}, {{"height", x[1]}, {"width", x[2]}}));
}
constexpr GradientRule kGradients[] = {{"from_shape", gradient}};

double flops(const OpQuery& q) { return static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const Shape& x = call.in[0].shape;
  const std::int64_t positions = x[1] * x[2], channels = x[3];
  for (std::int64_t b = 0; b < x[0]; ++b) {
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t p = 0; p < positions; ++p) sum += load(call.in[0], (b * positions + p) * channels + c);
      store(call.out[0], b * channels + c, sum / static_cast<double>(positions));
    }
  }
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 7})}, {}}, {{f32({3, 1, 1, 4})}, {}}, {{f32({1, 4, 4, 33})}, {}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y[b, c] = mean over h, w of x[b, h, w, c]",
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::global_avg_pool
