// From a running variance to the rstd that normalize wants.
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::reciprocal_sqrt {
namespace {

constexpr std::string_view kName = "reciprocal_sqrt";
constexpr AttributeDef kAttributes[] = {kEpsAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  require_floating(kName, "v", q.in[0]);
  require_eps(kName, q);
  return {q.in[0]};
}

double flops(const OpQuery& q) { return 3.0 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const double eps = q.number("eps");
  for (std::int64_t i = 0; i < call.out[0].shape.count(); ++i)
    store(call.out[0], i, 1.0 / std::sqrt(load(call.in[0], i) + eps));
}

std::vector<Example> examples() { return {{{f32({7})}, {}}, {{f32({33})}, {{"eps", 1e-3}}}, {{f32({1})}, {}}}; }

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = 1 / sqrt(v + eps)",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::reciprocal_sqrt
