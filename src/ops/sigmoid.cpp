// Logistic function. Backward reads the output only, so the input need not be kept.
#include "ir/grad_builder.h"
#include "ops/elementwise.h"

namespace thimble::ops::sigmoid {
namespace {

constexpr std::string_view kName = "sigmoid";

std::vector<Type> infer(const OpQuery& q) { return infer_alike(kName, q, {"x"}); }

// dx = dy y (1 - y)
void from_output(GradBuilder& g) { g.give(0, g.apply("sigmoid_grad", {g.out(), g.grad()})); }
constexpr GradientRule kGradients[] = {{"from_output", from_output}};

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) { return 10 * count_of(q); }

void reference(const OpQuery&, const Call& call) noexcept {
  map_unary(call, [](double x) { return 1 / (1 + std::exp(-x)); });
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = 1 / (1 + exp(-x))",
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = unary_examples};

}  // namespace thimble::ops::sigmoid
