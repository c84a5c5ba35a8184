// Gradients of a batch norm. With a rectifier the mask is derived again from x: y is not read.
#include "ops/example_types.h"
#include "ops/norm_grad.h"

namespace thimble::ops::batch_norm_grad {
namespace {

constexpr std::string_view kName = "batch_norm_grad";
constexpr AttributeDef kAttributes[] = {kActivationAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 6, 7);
  require_norm_input(kName, q.in[0]);
  return infer_norm_grad(kName, q, 0);
}

constexpr InPlacePair kInPlace[] = {{0, 5}, {0, 6}, {0, 0}};

double flops(const OpQuery& q) { return 14.0 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept { norm_grad_reference(q, call, 0); }

Example example(const Shape& x, const Attributes& attributes) {
  const Type vector = f32({x.at(-1)});
  return {{f32(x), vector, vector, vector, vector, f32(x)}, attributes};
}

std::vector<Example> examples() {
  return {example({2, 3, 5, 4}, {}),
          example({3, 2, 2, 7}, {{"activation", "relu"}}),
          example({6, 5}, {}),
          example({9, 3}, {{"activation", "relu"}}),
          example({7, 2, 3, 5}, {{"activation", "relu6"}}),
          example({2, 4, 5, 33}, {{"activation", "relu"}}),
          with_addend(example({2, 3, 4, 5}, {})),
          with_addend(example({3, 2, 5, 17}, {{"activation", "relu"}}))};
}

}  // namespace

extern constinit const OpDef def = {
    .name = kName,
    .formula =
        "dx = (addend +) rstd * gamma * (d - mean(d) - n * mean(d n)), dgamma = sum d n, dbeta = "
        "sum d; n = (x - mean) * rstd, d = dy masked",
    .attributes = kAttributes,
    .infer = infer,
    .in_place = kInPlace,
    .batch_coupled = true,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::batch_norm_grad
