// Gradient of silu from its input.
#include "ops/elementwise.h"

namespace thimble::ops::silu_grad {
namespace {

constexpr std::string_view kName = "silu_grad";

std::vector<Type> infer(const OpQuery& q) { return infer_alike(kName, q, {"x", "dy"}); }

constexpr InPlacePair kInPlace[] = {{0, 1}, {0, 0}};

double flops(const OpQuery& q) { return 14 * count_of(q); }

void reference(const OpQuery&, const Call& call) noexcept {
  map_binary(call, [](double x, double dy) {
    const double s = 1 / (1 + std::exp(-x));
    return dy * s * (1 + x * (1 - s));
  });
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dx = dy * s * (1 + x * (1 - s)), s = sigmoid(x)",
                                    .infer = infer,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = binary_examples};

}  // namespace thimble::ops::silu_grad
