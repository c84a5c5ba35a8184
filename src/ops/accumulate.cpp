// Sums gradients, losses and hits over the microbatches of an iteration.
#include "ops/rounding.h"

namespace thimble::ops::accumulate {
namespace {

constexpr AttributeDef kAttributes[] = {{"rounding", AttributeKind::word, "nearest"},
                                        {"key", AttributeKind::integer, "0"}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs("accumulate", q, 2, 2);
  require_floating("accumulate", "total", q.in[0]);
  require_floating("accumulate", "x", q.in[1]);
  require_shape("accumulate", "x", q.in[1], q.in[0].shape);
  require_rounding("accumulate", q);
  return {q.in[0]};
}

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) { return static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const Rounding rounding = rounding_of(q, *call.scalars);
  const std::int64_t count = call.out[0].shape.count();
  for (std::int64_t i = 0; i < count; ++i) {
    store_rounded(call.out[0], i, load(call.in[0], i) + load(call.in[1], i), rounding, i, 0);
  }
}

std::vector<Example> examples() {
  return {
      {{{DType::f32, {3, 3, 5, 7}}, {DType::f32, {3, 3, 5, 7}}}, {}},
      {{{DType::f32, {19}}, {DType::f32, {19}}}, {{"rounding", std::string("stochastic")}, {"key", std::int64_t{7}}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = "accumulate",
                                    .formula = "total' = total + x",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .in_place = kInPlace,
                                    .is_update = true,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::accumulate
