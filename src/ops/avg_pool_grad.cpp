// Gradient of avg_pool: every element collects its share of the windows that saw it.
#include "ops/example_types.h"
#include "ops/pool_shape.h"

namespace thimble::ops::avg_pool_grad {
namespace {

constexpr std::string_view kName = "avg_pool_grad";
constexpr AttributeDef kAttributes[] = {
    kPoolKernelAttribute, kPoolStrideAttribute, kPoolPaddingAttribute, {"height"}, {"width"}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  return {infer_pool_grad(kName, q, kMaxExtent, false)};
}

double flops(const OpQuery& q) {
  const auto kernel = static_cast<double>(q.integer("kernel"));
  return kernel * kernel * static_cast<double>(q.in[0].shape.count());
}

void reference(const OpQuery& q, const Call& call) noexcept {
  const PoolShape s = pool_shape(kName, q, call.out[0].shape, kMaxExtent, false);
  const auto divisor = static_cast<double>(s.kernel * s.kernel);
  for_each_place(s.x, [&](std::int64_t b, std::int64_t h, std::int64_t w, std::int64_t c) {
    double sum = 0;
    for_each_window(s, b, h, w, c, [&](std::int64_t i, std::int64_t) { sum += load(call.in[0], i); });
    store(call.out[0], offset_of(s.x, b, h, w, c), sum / divisor);
  });
}

std::vector<Example> examples() {
  return {{{f32({2, 2, 3, 3})}, {{"kernel", 2}, {"stride", 2}, {"height", 4}, {"width", 6}}},
          {{f32({1, 4, 3, 5})}, {{"kernel", 3}, {"stride", 2}, {"padding", 1}, {"height", 7}, {"width", 5}}},
          {{f32({2, 3, 3, 2})}, {{"kernel", 3}, {"stride", 1}, {"height", 5}, {"width", 5}}},
          {{f32({1, 2, 2, 17})}, {{"kernel", 2}, {"stride", 3}, {"height", 6}, {"width", 7}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dx = sum over the windows that see x of dy / kernel^2",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::avg_pool_grad
