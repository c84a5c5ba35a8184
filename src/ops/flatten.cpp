// All but the batch axis made one. A view: no byte moves.
#include <cstring>

#include "ir/grad_builder.h"
#include "ops/check.h"
#include "ops/example_types.h"
#include "ops/shape_word.h"

namespace thimble::ops::flatten {
namespace {

constexpr std::string_view kName = "flatten";

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  const Type& x = q.in[0];
  require_floating(kName, "x", x);
  require(x.shape.rank() >= 1, kName, ": x is ", x, ", wanted at least one dimension");
  require_not_empty(kName, "x", x);
  return {{x.dtype, {x.shape[0], x.shape.count() / x.shape[0]}}};
}

void gradient(GradBuilder& g) {
  g.give(0, g.apply("reshape", {g.grad()}, {{"shape", shape_word(g.type(g.in(0)).shape)}}));
}
constexpr GradientRule kGradients[] = {{"from_shape", gradient}};

double flops(const OpQuery&) { return 0; }

// A planned view shares the memory; a caller that gave it memory of its own gets a copy.
void reference(const OpQuery& q, const Call& call) noexcept {
  std::memmove(call.out[0].data, call.in[0].data, static_cast<std::size_t>(q.in[0].bytes()));
}

std::vector<Example> examples() { return {{{f32({2, 3, 5, 7})}, {}}, {{f32({3})}, {}}, {{f32({4, 6})}, {}}}; }

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y[b, i] = x[b, ...]",
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .is_view = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::flatten
