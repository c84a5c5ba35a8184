// Gradient of a rectifier from its output.
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::relu_grad {
namespace {

constexpr std::string_view kName = "relu_grad";

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 2);
  require_floating(kName, "y", q.in[0]);
  require_type(kName, "dy", q.in[1], q.in[0]);
  return {q.in[1]};
}

constexpr InPlacePair kInPlace[] = {{0, 1}, {0, 0}};

double flops(const OpQuery& q) { return static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  for (std::int64_t i = 0; i < call.out[0].shape.count(); ++i) {
    store(call.out[0], i, load(call.in[0], i) > 0 ? load(call.in[1], i) : 0);
  }
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 7}), f32({2, 3, 5, 7})}, {}}, {{f32({1}), f32({1})}, {}}, {{f32({5, 19}), f32({5, 19})}, {}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dx = dy where y > 0, else 0",
                                    .infer = infer,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::relu_grad
