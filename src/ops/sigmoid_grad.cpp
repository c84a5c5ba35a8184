// Gradient of sigmoid from its output.
#include "ops/elementwise.h"

namespace thimble::ops::sigmoid_grad {
namespace {

constexpr std::string_view kName = "sigmoid_grad";

std::vector<Type> infer(const OpQuery& q) { return infer_alike(kName, q, {"y", "dy"}); }

constexpr InPlacePair kInPlace[] = {{0, 1}, {0, 0}};

double flops(const OpQuery& q) { return 3 * count_of(q); }

void reference(const OpQuery&, const Call& call) noexcept {
  map_binary(call, [](double y, double dy) { return dy * y * (1 - y); });
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dx = dy * y * (1 - y)",
                                    .infer = infer,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = binary_examples};

}  // namespace thimble::ops::sigmoid_grad
