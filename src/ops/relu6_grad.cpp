// Gradient of relu6 from its output. At both corners it is zero.
#include "ops/elementwise.h"

namespace thimble::ops::relu6_grad {
namespace {

constexpr std::string_view kName = "relu6_grad";

std::vector<Type> infer(const OpQuery& q) { return infer_alike(kName, q, {"y", "dy"}); }

constexpr InPlacePair kInPlace[] = {{0, 1}, {0, 0}};

double flops(const OpQuery& q) { return 2 * count_of(q); }

void reference(const OpQuery&, const Call& call) noexcept {
  map_binary(call, [](double y, double dy) { return y > 0 && y < 6 ? dy : 0; });
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dx = dy where 0 < y < 6, else 0",
                                    .infer = infer,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = binary_examples};

}  // namespace thimble::ops::relu6_grad
