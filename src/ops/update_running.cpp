// Running statistics of a batch norm, a step nearer to those of the batch at hand. Variance enters unbiased.
#include <algorithm>

#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::update_running {
namespace {

constexpr std::string_view kName = "update_running";
constexpr AttributeDef kAttributes[] = {{"momentum", AttributeKind::number, "0.1"}, kEpsAttribute, {"count"}};

std::vector<Type> infer(const OpQuery& q) {
  constexpr std::string_view kInputs[] = {"running_mean", "running_var", "mean", "rstd"};
  require_inputs(kName, q, 4, 4);
  require_rank(kName, kInputs[0], q.in[0], 1);
  for (std::size_t k = 1; k < 4; ++k) {
    require_floating(kName, kInputs[k], q.in[k]);
    require_shape(kName, kInputs[k], q.in[k], q.in[0].shape);
  }
  const double momentum = q.number("momentum");
  require(momentum >= 0 && momentum <= 1, kName, ": attribute 'momentum' is ", momentum, ", wanted 0 to 1");
  require_eps(kName, q);
  require(q.integer("count") >= 1, kName, ": attribute 'count' is ", q.integer("count"),
          ", wanted the elements per channel, at least 1");
  return {q.in[0], q.in[1]};
}

constexpr InPlacePair kInPlace[] = {{0, 0}, {1, 1}};

double flops(const OpQuery& q) { return 10.0 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const double momentum = q.number("momentum"), eps = q.number("eps");
  const auto count = static_cast<double>(q.integer("count"));
  // A single element has variance zero, biased or not.
  const double unbiased = count > 1 ? count / (count - 1) : 1;
  for (std::int64_t c = 0; c < call.out[0].shape.count(); ++c) {
    const double rstd = load(call.in[3], c);
    // Rounding of rstd may carry a variance of zero below zero.
    const double variance = std::max(0.0, 1 / (rstd * rstd) - eps) * unbiased;
    store(call.out[0], c, (1 - momentum) * load(call.in[0], c) + momentum * load(call.in[2], c));
    store(call.out[1], c, (1 - momentum) * load(call.in[1], c) + momentum * variance);
  }
}

std::vector<Example> examples() {
  const Type vector = f32({7}), one = f32({1}), many = f32({37});
  return {{{vector, vector, vector, vector}, {{"count", 12}}},
          {{one, one, one, one}, {{"count", 1}, {"momentum", 0.5}}},
          {{many, many, many, many}, {{"count", 100}, {"momentum", 0.01}, {"eps", 1e-3}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula =
                                        "running_mean' = (1 - m) running_mean + m mean, running_var' = (1 - m) "
                                        "running_var + m (1 / rstd^2 - eps) n / (n - 1)",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .in_place = kInPlace,
                                    .is_update = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::update_running
