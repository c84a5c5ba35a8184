// Gradient of global_avg_pool: the same share for every position.
#include "ops/check.h"
#include "ops/example_types.h"

namespace thimble::ops::global_avg_pool_grad {
namespace {

constexpr std::string_view kName = "global_avg_pool_grad";
constexpr AttributeDef kAttributes[] = {{"height"}, {"width"}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  require_rank(kName, "dy", q.in[0], 2);
  const Type dx = {q.in[0].dtype,
                   {q.in[0].shape[0], integer_between(kName, q, "height", 1, kMaxExtent),
                    integer_between(kName, q, "width", 1, kMaxExtent), q.in[0].shape[1]}};
  require_image(kName, "dx", dx);
  return {dx};
}

double flops(const OpQuery& q) { return static_cast<double>(q.out[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const Shape& x = call.out[0].shape;
  const std::int64_t positions = x[1] * x[2], channels = x[3];
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const std::int64_t b = i / (positions * channels);
    store(call.out[0], i, load(call.in[0], b * channels + i % channels) / static_cast<double>(positions));
  }
}

std::vector<Example> examples() {
  return {{{f32({2, 7})}, {{"height", 3}, {"width", 5}}},
          {{f32({3, 4})}, {{"height", 1}, {"width", 1}}},
          {{f32({1, 33})}, {{"height", 4}, {"width", 4}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dx[b, h, w, c] = dy[b, c] / (height * width)",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::global_avg_pool_grad
