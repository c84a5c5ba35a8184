// Average over square windows. Padding counts as zeros: the divisor is always kernel * kernel.
#include "ir/grad_builder.h"
#include "ops/example_types.h"
#include "ops/pool_shape.h"

namespace thimble::ops::avg_pool {
namespace {

constexpr std::string_view kName = "avg_pool";
constexpr AttributeDef kAttributes[] = {kPoolKernelAttribute, kPoolStrideAttribute, kPoolPaddingAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  require_image(kName, "x", q.in[0]);
  return {{q.in[0].dtype, pool_shape(kName, q, q.in[0].shape, kMaxExtent, false).y}};
}

void gradient(GradBuilder& g) {
  const Shape x = g.type(g.in(0)).shape;
  Attributes attributes = g.attributes();
  attributes.set("height", x[1]);
  attributes.set("width", x[2]);
  g.give(0, g.apply("avg_pool_grad", {g.grad()}, attributes));
}
constexpr GradientRule kGradients[] = {{"from_shape", gradient}};

double flops(const OpQuery& q) {
  const auto kernel = static_cast<double>(q.integer("kernel"));
  return kernel * kernel * static_cast<double>(q.out[0].shape.count());
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const PoolShape s = pool_shape(kName, q, call.in[0].shape, kMaxExtent, false);
  const auto divisor = static_cast<double>(s.kernel * s.kernel);
  for_each_place(s.y, [&](std::int64_t b, std::int64_t row, std::int64_t column, std::int64_t c) {
    double sum = 0;
    for_each_element(s, b, row, column, c, [&](std::int64_t i, std::int64_t) { sum += load(call.in[0], i); });
    store(call.out[0], offset_of(s.y, b, row, column, c), sum / divisor);
  });
}

std::vector<Example> examples() {
  return {{{f32({2, 4, 6, 3})}, {{"kernel", 2}, {"stride", 2}}},
          {{f32({1, 7, 5, 5})}, {{"kernel", 3}, {"stride", 2}, {"padding", 1}}},
          {{f32({2, 5, 5, 2})}, {{"kernel", 3}, {"stride", 1}}},
          {{f32({1, 6, 7, 17})}, {{"kernel", 2}, {"stride", 3}}},
          {{f32({1, 8, 8, 4})}, {{"kernel", 8}, {"stride", 8}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = sum over the window of x / kernel^2",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::avg_pool
