// Rectifier that saturates at six, as in the MobileNets. Backward reads the output only, so the input need not be kept.
#include "ir/grad_builder.h"
#include "ops/elementwise.h"

namespace thimble::ops::relu6 {
namespace {

constexpr std::string_view kName = "relu6";

std::vector<Type> infer(const OpQuery& q) { return infer_alike(kName, q, {"x"}); }

// dx = dy where 0 < y < 6
void from_output(GradBuilder& g) { g.give(0, g.apply("relu6_grad", {g.out(), g.grad()})); }
constexpr GradientRule kGradients[] = {{"from_output", from_output}};

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) { return 2 * count_of(q); }

void reference(const OpQuery&, const Call& call) noexcept {
  // NaN passes: a diverging run must not look healthy.
  map_unary(call, [](double x) { return x <= 0 ? 0 : x >= 6 ? 6 : x; });
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = min(max(x, 0), 6)",
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = unary_examples};

}  // namespace thimble::ops::relu6
