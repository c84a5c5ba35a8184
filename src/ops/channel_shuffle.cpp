// Channels dealt out anew, so that the next grouped convolution sees some of every group: the channels as a matrix with
// one row a group, transposed.
#include "ir/grad_builder.h"
#include "ops/example_types.h"
#include "ops/move.h"

namespace thimble::ops::channel_shuffle {
namespace {

constexpr std::string_view kName = "channel_shuffle";
constexpr AttributeDef kAttributes[] = {{"groups"}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  const Type& x = q.in[0];
  require_floating(kName, "x", x);
  require_not_empty(kName, "x", x);
  require(x.shape.rank() >= 2, kName, ": x is ", x, ", wanted at least two dimensions");
  const std::int64_t groups = integer_between(kName, q, "groups", 1, x.shape.at(-1));
  require(x.shape.at(-1) % groups == 0, kName, ": x is ", x, ", wanted a number of channels that groups ", groups,
          " divides");
  return {x};
}

// The transposed matrix has one row a channel of a group; transposing it again puts everything back.
void gradient(GradBuilder& g) {
  const std::int64_t groups = g.type(g.in(0)).shape.at(-1) / g.attributes().integer("groups");
  g.give(0, g.apply("channel_shuffle", {g.grad()}, {{"groups", groups}}));
}
constexpr GradientRule kGradients[] = {{"from_shape", gradient}};

void reference(const OpQuery& q, const Call& call) noexcept {
  const std::int64_t channels = call.in[0].shape.at(-1), groups = q.integer("groups"), each = channels / groups;
  for (std::int64_t i = 0; i < call.in[0].shape.count(); ++i) {
    const std::int64_t group = i % channels / each, member = i % each;
    copy_elements(call.out[0], i - i % channels + member * groups + group, call.in[0], i, 1);
  }
}

std::vector<Example> examples() {
  return {
      {{f32({2, 2, 3, 6})}, {{"groups", 2}}},  {{f32({3, 12})}, {{"groups", 3}}}, {{f32({2, 3, 20})}, {{"groups", 4}}},
      {{f32({1, 2, 1, 35})}, {{"groups", 5}}}, {{f32({2, 40})}, {{"groups", 8}}}, {{f32({2, 22})}, {{"groups", 11}}},
      {{f32({1, 18 * 17})}, {{"groups", 17}}}, {{f32({2, 7})}, {{"groups", 1}}},  {{f32({2, 7})}, {{"groups", 7}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y[..., i * groups + g] = x[..., g * C / groups + i]",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .flops = flops_of_move,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::channel_shuffle
