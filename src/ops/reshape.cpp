// The same elements in the same order under another shape. A view: no byte moves.
#include <cstring>

#include "ir/grad_builder.h"
#include "ops/check.h"
#include "ops/example_types.h"
#include "ops/shape_word.h"

namespace thimble::ops::reshape {
namespace {

constexpr std::string_view kName = "reshape";
constexpr AttributeDef kAttributes[] = {{"shape", AttributeKind::word}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  const Type& x = q.in[0];
  require_floating(kName, "x", x);
  const Shape shape = parse_shape_word(q.word("shape"), kName);
  require(shape.count() == x.shape.count(), kName, ": x is ", x, " with ", x.shape.count(), " elements, wanted ",
          shape.count(), " for shape ", shape);
  return {{x.dtype, shape}};
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

std::vector<Example> examples() {
  return {{{f32({2, 3, 4})}, {{"shape", "4,6"}}},
          {{f32({30})}, {{"shape", "1,2,3,5"}}},
          {{f32({2, 6})}, {{"shape", "12"}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = x under another shape",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .is_view = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::reshape
