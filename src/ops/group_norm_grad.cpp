// Gradients of a group norm. With a rectifier the mask is derived again from x: y is not read.
#include "ops/example_types.h"
#include "ops/norm_grad.h"

namespace thimble::ops::group_norm_grad {
namespace {

constexpr std::string_view kName = "group_norm_grad";
constexpr AttributeDef kAttributes[] = {{"groups"}, kActivationAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 6, 7);
  require_norm_input(kName, q.in[0]);
  return infer_norm_grad(kName, q, require_groups(kName, q, q.in[0]));
}

constexpr InPlacePair kInPlace[] = {{0, 5}, {0, 6}, {0, 0}};

double flops(const OpQuery& q) { return 16.0 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept { norm_grad_reference(q, call, q.integer("groups")); }

Example example(const Shape& x, const Attributes& attributes) {
  const Type vector = f32({x.at(-1)});
  const Type statistic = f32({x[0], attributes.integer("groups")});
  return {{f32(x), statistic, statistic, vector, vector, f32(x)}, attributes};
}

std::vector<Example> examples() {
  return {example({2, 3, 5, 4}, {{"groups", 2}}),
          example({3, 2, 2, 6}, {{"groups", 3}, {"activation", "relu"}}),
          example({2, 3, 3, 5}, {{"groups", 1}}),
          example({2, 4, 3, 3}, {{"groups", 3}}),
          example({4, 8}, {{"groups", 2}, {"activation", "relu"}}),
          example({3, 3, 2, 6}, {{"groups", 2}, {"activation", "relu6"}}),
          example({2, 4, 4, 32}, {{"groups", 8}, {"activation", "relu"}}),
          with_addend(example({2, 3, 4, 6}, {{"groups", 3}})),
          with_addend(example({3, 5, 2, 20}, {{"groups", 4}, {"activation", "relu"}}))};
}

}  // namespace

extern constinit const OpDef def = {
    .name = kName,
    .formula =
        "dx = (addend +) rstd * (d gamma - mean(d gamma) - n * mean(d gamma n)), dgamma = sum d "
        "n, dbeta = sum d; n = (x - mean) * rstd",
    .attributes = kAttributes,
    .infer = infer,
    .in_place = kInPlace,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::group_norm_grad
