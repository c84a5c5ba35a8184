// x times its own sigmoid, also called swish. It falls and rises, so backward needs the input: the output does not tell
// on which side of the minimum it lies.
#include "ir/grad_builder.h"
#include "ops/elementwise.h"

namespace thimble::ops::silu {
namespace {

constexpr std::string_view kName = "silu";

std::vector<Type> infer(const OpQuery& q) { return infer_alike(kName, q, {"x"}); }

// dx = dy s (1 + x (1 - s)), s = sigmoid(x)
void from_input(GradBuilder& g) { g.give(0, g.apply("silu_grad", {g.in(0), g.grad()})); }
constexpr GradientRule kGradients[] = {{"from_input", from_input}};

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) { return 10 * count_of(q); }

void reference(const OpQuery&, const Call& call) noexcept {
  map_unary(call, [](double x) { return x / (1 + std::exp(-x)); });
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = x / (1 + exp(-x))",
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = unary_examples};

}  // namespace thimble::ops::silu
