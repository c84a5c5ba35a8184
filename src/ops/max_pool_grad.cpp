// Gradient of max_pool: dy goes to the tap that won. Written as a gather, so a wrong index byte can reach no memory.
#include "ops/example_types.h"
#include "ops/pool_shape.h"

namespace thimble::ops::max_pool_grad {
namespace {

constexpr std::string_view kName = "max_pool_grad";
constexpr std::int64_t kMaxKernel = 15;  // as max_pool: taps fit a byte
constexpr AttributeDef kAttributes[] = {kPoolKernelAttribute, kPoolStrideAttribute, kPoolPaddingAttribute,
                                        kPoolCeilAttribute,   {"height"},           {"width"}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 2);
  const Type dx = infer_pool_grad(kName, q, kMaxKernel, true);
  require_type(kName, "index", q.in[1], {DType::u8, q.in[0].shape});
  return {dx};
}

double flops(const OpQuery& q) { return static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const PoolShape s = pool_shape(kName, q, call.out[0].shape, kMaxKernel, true);
  const auto* index = call.in[1].as<const std::uint8_t>();
  for_each_place(s.x, [&](std::int64_t b, std::int64_t h, std::int64_t w, std::int64_t c) {
    double sum = 0;
    for_each_window(s, b, h, w, c, [&](std::int64_t i, std::int64_t tap) {
      if (index[i] == tap) sum += load(call.in[0], i);
    });
    store(call.out[0], offset_of(s.x, b, h, w, c), sum);
  });
}

std::vector<Example> examples() {
  const auto example = [](const Shape& dy, const Attributes& attributes) {
    return Example{{f32(dy), u8(dy)}, attributes};
  };
  return {example({2, 2, 3, 3}, {{"kernel", 2}, {"stride", 2}, {"height", 4}, {"width", 6}}),
          example({1, 4, 3, 5}, {{"kernel", 3}, {"stride", 2}, {"padding", 1}, {"height", 7}, {"width", 5}}),
          example({2, 3, 3, 2}, {{"kernel", 3}, {"stride", 1}, {"height", 5}, {"width", 5}}),
          example({1, 3, 3, 3}, {{"kernel", 3}, {"stride", 2}, {"ceil", 1}, {"height", 6}, {"width", 7}}),
          example({1, 2, 2, 17}, {{"kernel", 2}, {"stride", 3}, {"height", 6}, {"width", 7}})};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dx = sum of dy over the windows that x won",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::max_pool_grad
