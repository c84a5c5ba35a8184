// Dropout without a mask in memory: backward draws the same numbers again.
#include "base/random.h"
#include "ir/grad_builder.h"
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::dropout {
namespace {

constexpr std::string_view kName = "dropout";
constexpr AttributeDef kAttributes[] = {{"p", AttributeKind::number}, {"key"}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  const Type& x = q.in[0];
  require_floating(kName, "x", x);
  require(x.shape.rank() >= 1, kName, ": x is ", x, ", wanted at least one dimension");
  require_not_empty(kName, "x", x);
  const double p = q.number("p");
  require(p >= 0 && p < 1, kName, ": attribute 'p' is ", p, ", wanted at least 0 and below 1");
  return {x};
}

// The mask depends on nothing but key and place: dx is dy under the same dropout.
void gradient(GradBuilder& g) { g.give(0, g.apply("dropout", {g.grad()}, g.attributes())); }
constexpr GradientRule kGradients[] = {{"from_key", gradient}};

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) { return 40.0 * static_cast<double>(q.in[0].shape.count()); }  // ten rounds of Philox

// Element f of sample b is kept if the first word drawn for its place in the whole batch, as a fraction of 2^32, is at
// least p.
void reference(const OpQuery& q, const Call& call) noexcept {
  const double p = q.number("p");
  const RunScalars& scalars = *call.scalars;
  const RandomKey key = random_key(scalars.seed, RandomPurpose::dropout, static_cast<std::uint64_t>(q.integer("key")));
  const Shape& shape = call.in[0].shape;
  const std::int64_t first = scalars.sample_offset * (shape.count() / shape[0]);
  for (std::int64_t i = 0; i < shape.count(); ++i) {
    const auto bits =
        random_bits(key, static_cast<std::uint64_t>(first + i), static_cast<std::uint64_t>(scalars.iteration));
    store(call.out[0], i, to_unit_double(bits[0]) >= p ? load(call.in[0], i) / (1 - p) : 0);
  }
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 7})}, {{"p", 0.3}, {"key", 1}}},
          {{f32({4, 19})}, {{"p", 0.5}, {"key", 7}}},
          {{f32({3})}, {{"p", 0.0}, {"key", 0}}},
          {{f32({1, 64})}, {{"p", 0.9}, {"key", -1}}}};
}

}  // namespace

extern constinit const OpDef def = {
    .name = kName,
    .formula =
        "y = x / (1 - p) where a number drawn for (seed, key, iteration, place in the batch) is at least p, else 0",
    .attributes = kAttributes,
    .infer = infer,
    .gradients = kGradients,
    .in_place = kInPlace,
    .is_random = true,
    .flops = flops,
    .reference = reference,
    .examples = examples};

}  // namespace thimble::ops::dropout
