// The statistics of a group norm alone.
#include "ops/example_types.h"
#include "ops/norm.h"

namespace thimble::ops::group_moments {
namespace {

constexpr std::string_view kName = "group_moments";
constexpr AttributeDef kAttributes[] = {{"groups"}, kEpsAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  require_norm_input(kName, q.in[0]);
  require_eps(kName, q);
  const Type statistic = statistic_type(q.in[0], require_groups(kName, q, q.in[0]));
  return {statistic, statistic};
}

double flops(const OpQuery& q) { return 4.0 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  store_moments(NormShape(call.in[0].shape, q.integer("groups")), call.in[0], q.number("eps"), call.out[0],
                call.out[1]);
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 4})}, {{"groups", 2}}},
          {{f32({3, 2, 2, 5})}, {{"groups", 1}, {"eps", 1e-3}}},
          {{f32({4, 8})}, {{"groups", 2}}},
          {{f32({2, 4, 4, 32})}, {{"groups", 8}}}};
}

}  // namespace

extern constinit const OpDef def = {
    .name = kName,
    .formula = "mean and rstd = 1 / sqrt(variance + eps) per sample and group, variance biased",
    .attributes = kAttributes,
    .infer = infer,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::group_moments
