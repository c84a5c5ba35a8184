// Product of two tensors of one shape. To scale whole channels of an image see scale_channels.
#include "ir/grad_builder.h"
#include "ops/elementwise.h"

namespace thimble::ops::multiply {
namespace {

constexpr std::string_view kName = "multiply";

std::vector<Type> infer(const OpQuery& q) { return infer_alike(kName, q, {"a", "b"}); }

// Each input's gradient reads the other one.
void gradient(GradBuilder& g) {
  if (g.wants(0)) g.give(0, g.apply("multiply", {g.grad(), g.in(1)}));
  if (g.wants(1)) g.give(1, g.apply("multiply", {g.grad(), g.in(0)}));
}
constexpr GradientRule kGradients[] = {{"from_input", gradient}};

constexpr InPlacePair kInPlace[] = {{0, 0}, {0, 1}};

double flops(const OpQuery& q) { return 1 * count_of(q); }

void reference(const OpQuery&, const Call& call) noexcept {
  map_binary(call, [](double a, double b) { return a * b; });
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = a * b",
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = binary_examples};

}  // namespace thimble::ops::multiply
