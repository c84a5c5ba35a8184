// Gradient of a rectifier from the bits of sign_bits.
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::relu_grad_bits {
namespace {

constexpr std::string_view kName = "relu_grad_bits";

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 2);
  require_floating(kName, "dy", q.in[1]);
  require_type(kName, "bits", q.in[0], {DType::u8, {(q.in[1].shape.count() + 7) / 8}});
  return {q.in[1]};
}

constexpr InPlacePair kInPlace[] = {{0, 1}};

double flops(const OpQuery& q) { return static_cast<double>(q.in[1].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const auto* bits = call.in[0].as<const std::uint8_t>();
  for (std::int64_t i = 0; i < call.out[0].shape.count(); ++i) {
    store(call.out[0], i, ((bits[i / 8] >> (i % 8)) & 1) != 0 ? load(call.in[1], i) : 0);
  }
}

std::vector<Example> examples() {
  return {{{u8({27}), f32({2, 3, 5, 7})}, {}},
          {{u8({1}), f32({1})}, {}},
          {{u8({2}), f32({16})}, {}},
          {{u8({14}), f32({3, 37})}, {}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dx[i] = dy[i] where bit i % 8 of byte i / 8 is set, else 0",
                                    .infer = infer,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::relu_grad_bits
