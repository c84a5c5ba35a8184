// What every gradient is multiplied by so that all of them together are no longer than a limit, as PyTorch's
// clip_grad_norm_ does it. Reads the length of each gradient; a few numbers in all, so the reference serves as kernel.
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::clip_scale {
namespace {

constexpr std::string_view kName = "clip_scale";
constexpr double kNeverZero = 1e-6;  // PyTorch's
// A step counts its operands in 16 bits.
constexpr std::int64_t kMostGradients = 32'000;
constexpr AttributeDef kAttributes[] = {{"limit", AttributeKind::number, ""}, {"count", AttributeKind::integer, ""}};

std::vector<Type> infer(const OpQuery& q) {
  const std::int64_t count = integer_between(kName, q, "count", 1, kMostGradients);
  require(static_cast<std::int64_t>(q.in.size()) == count, kName, ": found ", q.in.size(),
          " inputs, wanted as many as attribute 'count', ", count);
  for (std::size_t k = 0; k < q.in.size(); ++k) {
    const std::string what = join_text("input ", k);
    require_floating(kName, what, q.in[k]);
    require_shape(kName, what, q.in[k], {1});
  }
  const double limit = q.number("limit");
  require(std::isfinite(limit) && limit > 0, kName, ": attribute 'limit' is ", limit, ", wanted a positive number");
  return {{DType::f32, {1}}, {DType::f32, {1}}};
}

double flops(const OpQuery& q) { return 2 * static_cast<double>(q.in.size()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  double sum = 0;
  for (const TensorView& length : call.in) sum += load(length, 0) * load(length, 0);
  const double norm = std::sqrt(sum), ratio = q.number("limit") / (norm + kNeverZero);
  store(call.out[0], 0, ratio >= 1 ? 1.0 : ratio);  // NaN goes on: a diverging run must not look healthy
  store(call.out[1], 0, norm);
}

std::vector<Example> examples() {
  return {{{f32({1})}, {{"limit", 0.125}, {"count", std::int64_t{1}}}},
          {{f32({1}), f32({1}), f32({1})}, {{"limit", 2.0}, {"count", std::int64_t{3}}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "norm = sqrt(sum of n_k^2); s = min(1, limit / (norm + 1e-6))",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .ends_first_pass = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::clip_scale
