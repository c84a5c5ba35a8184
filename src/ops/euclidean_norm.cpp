// Length of a tensor taken as one vector: a gradient's share of the norm that clipping looks at.
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::euclidean_norm {
namespace {

constexpr std::string_view kName = "euclidean_norm";

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  require_floating(kName, "x", q.in[0]);
  require_not_empty(kName, "x", q.in[0]);
  return {{DType::f32, {1}}};
}

double flops(const OpQuery& q) { return 2 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  double sum = 0;
  for (std::int64_t i = 0; i < call.in[0].shape.count(); ++i) {
    const double x = load(call.in[0], i);
    sum += x * x;
  }
  store(call.out[0], 0, std::sqrt(sum));
}

std::vector<Example> examples() { return {{{f32({3, 3, 5, 7})}, {}}, {{f32({19})}, {}}, {{f32({1})}, {}}}; }

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "n = sqrt(sum of x^2)",
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::euclidean_norm
