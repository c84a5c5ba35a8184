// Sum over all axes but the last: the gradient of a bias.
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::channel_sum {
namespace {

constexpr std::string_view kName = "channel_sum";
constexpr AttributeDef kAttributes[] = {kDTypeAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  require_floating(kName, "dy", q.in[0]);
  require(q.in[0].shape.rank() >= 1, kName, ": dy is ", q.in[0], ", wanted at least one dimension");
  require_not_empty(kName, "dy", q.in[0]);
  return {{dtype_attribute(kName, q), {q.in[0].shape.at(-1)}}};
}

double flops(const OpQuery& q) { return static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const std::int64_t channels = call.out[0].shape.count();
  const std::int64_t count = call.in[0].shape.count();
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (std::int64_t i = c; i < count; i += channels) sum += load(call.in[0], i);
    store(call.out[0], c, sum);
  }
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 7})}, {}},
          {{f32({9, 17})}, {}},
          {{f32({1, 1})}, {}},
          {{f32({3, 4, 4, 16})}, {{"dtype", "bf16"}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "s[c] = sum of dy[..., c]",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::channel_sum
