// silu with the sigmoid made of straight pieces, as in MobileNetV3. Backward needs the input: the output does not tell
// on which side of the minimum it lies.
#include <algorithm>

#include "ir/grad_builder.h"
#include "ops/elementwise.h"

namespace thimble::ops::hard_swish {
namespace {

constexpr std::string_view kName = "hard_swish";

std::vector<Type> infer(const OpQuery& q) { return infer_alike(kName, q, {"x"}); }

// dx = dy (x / 3 + 1 / 2) between the corners
void from_input(GradBuilder& g) { g.give(0, g.apply("hard_swish_grad", {g.in(0), g.grad()})); }
constexpr GradientRule kGradients[] = {{"from_input", from_input}};

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) { return 4 * count_of(q); }

void reference(const OpQuery&, const Call& call) noexcept {
  map_unary(call, [](double x) { return x * (std::clamp(x + 3, 0.0, 6.0) / 6); });
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = x * min(max(x + 3, 0), 6) / 6",
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = unary_examples};

}  // namespace thimble::ops::hard_swish
