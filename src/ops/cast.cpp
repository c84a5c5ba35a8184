// Another floating type for the same numbers; bf16 is rounded to nearest even.
#include "ir/grad_builder.h"
#include "ops/check.h"

namespace thimble::ops::cast {
namespace {

constexpr AttributeDef kAttributes[] = {kDTypeAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs("cast", q, 1, 1);
  require_floating("cast", "x", q.in[0]);
  return {{dtype_attribute("cast", q), q.in[0].shape}};
}

// dx = dy in the type of x: nothing is kept.
void gradient(GradBuilder& g) {
  g.give(0, g.apply("cast", {g.grad()}, {{"dtype", std::string(name_of(g.type(g.in(0)).dtype))}}));
}
constexpr GradientRule kGradients[] = {{"from_gradient", gradient}};

double flops(const OpQuery& q) { return static_cast<double>(q.out[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const std::int64_t count = call.out[0].shape.count();
  for (std::int64_t i = 0; i < count; ++i) store(call.out[0], i, load(call.in[0], i));
}

std::vector<Example> examples() {
  return {{{{DType::f32, {2, 3, 5, 7}}}, {{"dtype", std::string("bf16")}}},
          {{{DType::f32, {19}}}, {{"dtype", std::string("f32")}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = "cast",
                                    .formula = "y = x rounded to dtype",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::cast
