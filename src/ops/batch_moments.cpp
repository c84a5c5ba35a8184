// The statistics of a batch norm alone: what is computed again when only y was dropped, and what running statistics are
// made of.
#include "ops/example_types.h"
#include "ops/norm.h"

namespace thimble::ops::batch_moments {
namespace {

constexpr std::string_view kName = "batch_moments";
constexpr AttributeDef kAttributes[] = {kEpsAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  require_norm_input(kName, q.in[0]);
  require_eps(kName, q);
  const Type statistic = statistic_type(q.in[0], 0);
  return {statistic, statistic};
}

double flops(const OpQuery& q) { return 4.0 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  store_moments(NormShape(call.in[0].shape, 0), call.in[0], q.number("eps"), call.out[0], call.out[1]);
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 4})}, {}}, {{f32({6, 5})}, {{"eps", 1e-3}}}, {{f32({1, 1})}, {}}, {{f32({2, 4, 5, 33})}, {}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "mean and rstd = 1 / sqrt(variance + eps) per channel, variance biased",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .batch_coupled = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::batch_moments
