// One bit an element: is it positive? What a rectifier's backward keeps when nobody else keeps its output.
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::sign_bits {
namespace {

constexpr std::string_view kName = "sign_bits";

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  require_floating(kName, "x", q.in[0]);
  return {{DType::u8, {(q.in[0].shape.count() + 7) / 8}}};
}

double flops(const OpQuery& q) { return static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const std::int64_t count = call.in[0].shape.count();
  for (std::int64_t byte = 0; byte < call.out[0].shape.count(); ++byte) {
    unsigned bits = 0;  // those beyond the last element stay zero
    for (std::int64_t i = byte * 8; i < byte * 8 + 8 && i < count; ++i) {
      if (load(call.in[0], i) > 0) bits |= 1U << (i % 8);
    }
    call.out[0].as<std::uint8_t>()[byte] = static_cast<std::uint8_t>(bits);
  }
}

std::vector<Example> examples() {
  return {
      {{f32({2, 3, 5, 7})}, {}}, {{f32({1})}, {}}, {{f32({16})}, {}}, {{f32({3, 37})}, {}}, {{f32({4, 5, 5, 8})}, {}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "bit i % 8 of byte i / 8 = x[i] > 0",
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::sign_bits
