// Gradient of hard_swish from its input. A corner takes the slope of the straight line outside.
#include "ops/elementwise.h"

namespace thimble::ops::hard_swish_grad {
namespace {

constexpr std::string_view kName = "hard_swish_grad";

std::vector<Type> infer(const OpQuery& q) { return infer_alike(kName, q, {"x", "dy"}); }

constexpr InPlacePair kInPlace[] = {{0, 1}, {0, 0}};

double flops(const OpQuery& q) { return 4 * count_of(q); }

void reference(const OpQuery&, const Call& call) noexcept {
  map_binary(call, [](double x, double dy) { return x <= -3 ? 0 : x >= 3 ? dy : dy * (x / 3 + 0.5); });
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dx = 0 where x <= -3, dy where x >= 3, else dy * (x / 3 + 1 / 2)",
                                    .infer = infer,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = binary_examples};

}  // namespace thimble::ops::hard_swish_grad
