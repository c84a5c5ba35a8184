// Maximum over square windows. Backward keeps one byte an output: which tap won.
#include "ir/grad_builder.h"
#include "ops/example_types.h"
#include "ops/pool_shape.h"

namespace thimble::ops::max_pool {
namespace {

constexpr std::string_view kName = "max_pool";
constexpr std::int64_t kMaxKernel = 15;  // 15 * 15 taps fit a byte
constexpr AttributeDef kAttributes[] = {kPoolKernelAttribute, kPoolStrideAttribute, kPoolPaddingAttribute,
                                        kPoolCeilAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  require_image(kName, "x", q.in[0]);
  const Shape y = pool_shape(kName, q, q.in[0].shape, kMaxKernel, true).y;
  return {{q.in[0].dtype, y}, {DType::u8, y}};
}

void gradient(GradBuilder& g) {
  const Shape x = g.type(g.in(0)).shape;
  Attributes attributes = g.attributes();
  attributes.set("height", x[1]);
  attributes.set("width", x[2]);
  g.give(0, g.apply("max_pool_grad", {g.grad(), g.out(1)}, attributes));
}
constexpr GradientRule kGradients[] = {{"from_index", gradient}};

double flops(const OpQuery& q) {
  const auto kernel = static_cast<double>(q.integer("kernel"));
  return kernel * kernel * static_cast<double>(q.out[0].shape.count());
}

// The first of equal maxima wins, and the first NaN wins over every number. Padding never wins.
void reference(const OpQuery& q, const Call& call) noexcept {
  const PoolShape s = pool_shape(kName, q, call.in[0].shape, kMaxKernel, true);
  for_each_place(s.y, [&](std::int64_t b, std::int64_t row, std::int64_t column, std::int64_t c) {
    double best = 0;
    std::int64_t winner = -1;
    for_each_element(s, b, row, column, c, [&](std::int64_t i, std::int64_t tap) {
      const double x = load(call.in[0], i);
      if (winner >= 0 && !(x > best) && !(std::isnan(x) && !std::isnan(best))) return;
      best = x;
      winner = tap;
    });
    const std::int64_t place = offset_of(s.y, b, row, column, c);
    store(call.out[0], place, best);
    call.out[1].as<std::uint8_t>()[place] = static_cast<std::uint8_t>(winner);
  });
}

std::vector<Example> examples() {
  return {{{f32({2, 4, 6, 3})}, {{"kernel", 2}, {"stride", 2}}},
          {{f32({1, 7, 5, 5})}, {{"kernel", 3}, {"stride", 2}, {"padding", 1}}},
          {{f32({2, 5, 5, 2})}, {{"kernel", 3}, {"stride", 1}, {"padding", 2}}},
          {{f32({1, 6, 7, 17})}, {{"kernel", 2}, {"stride", 3}}},
          {{f32({1, 6, 7, 3})}, {{"kernel", 3}, {"stride", 2}, {"ceil", 1}}},
          {{f32({1, 6, 5, 2})}, {{"kernel", 2}, {"stride", 3}, {"padding", 1}, {"ceil", 1}}},
          {{f32({1, 15, 16, 1})}, {{"kernel", 15}, {"stride", 1}}}};
}

}  // namespace

extern constinit const OpDef def = {
    .name = kName,
    .formula = "y = max over the window of x, index = tap (row * kernel + column) of the first maximum",
    .attributes = kAttributes,
    .infer = infer,
    .gradients = kGradients,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::max_pool
