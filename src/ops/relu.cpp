// Rectifier. Backward reads the output only, so the input need not be kept.
#include "base/error.h"
#include "ir/grad_builder.h"
#include "ir/op_def.h"

namespace thimble::ops::relu {
namespace {

std::vector<Type> infer(const OpQuery& q) {
  require(q.in.size() == 1, "relu: found ", q.in.size(), " inputs, wanted 1");
  require(is_floating(q.in[0].dtype), "relu: found ", q.in[0], ", wanted a floating type");
  return {q.in[0]};
}

// dx = dy where y > 0
void from_output(GradBuilder& g) { g.give(0, g.apply("relu_grad", {g.out(), g.grad()})); }
// One bit an element is kept instead of y. The bits are taken from y, not from x, so that y may still overwrite x.
void from_bits(GradBuilder& g) { g.give(0, g.apply("relu_grad_bits", {g.apply("sign_bits", {g.out()}), g.grad()})); }

constexpr GradientRule kGradients[] = {{"from_output", from_output}, {"from_bits", from_bits}};

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) { return static_cast<double>(q.out[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const std::int64_t count = call.out[0].shape.count();
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = load(call.in[0], i);
    store(call.out[0], i, x <= 0 ? 0 : x);  // NaN passes: a diverging run must not look healthy
  }
}

std::vector<Example> examples() { return {{{{DType::f32, {2, 3, 5, 7}}}, {}}, {{{DType::f32, {1}}}, {}}}; }

}  // namespace

extern constinit const OpDef def = {.name = "relu",
                                    .formula = "y = max(x, 0)",
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::relu
