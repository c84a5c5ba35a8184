// Zeros before and after a tensor along one axis, by default the channels: what slice undoes, and its gradient.
#include "ir/grad_builder.h"
#include "ops/example_types.h"
#include "ops/move.h"

namespace thimble::ops::pad {
namespace {

constexpr std::string_view kName = "pad";
constexpr AttributeDef kAttributes[] = {
    kAxisAttribute, {"before", AttributeKind::integer, "0"}, {"after", AttributeKind::integer, "0"}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  const Type& x = q.in[0];
  const int axis = inner_axis(kName, q, x);
  const std::int64_t before = integer_between(kName, q, "before", 0, kMaxExtent);
  const std::int64_t after = integer_between(kName, q, "after", 0, kMaxExtent);
  return {{x.dtype, with_extent(x.shape, axis, before + x.shape[axis] + after)}};
}

void gradient(GradBuilder& g) {
  const std::int64_t axis = g.attributes().integer("axis"), begin = g.attributes().integer("before");
  const std::int64_t end = begin + g.type(g.in(0)).shape.at(static_cast<int>(axis));
  g.give(0, g.apply("slice", {g.grad()}, {{"axis", axis}, {"begin", begin}, {"end", end}}));
}
constexpr GradientRule kGradients[] = {{"from_shape", gradient}};

void reference(const OpQuery& q, const Call& call) noexcept {
  const int axis = axis_attribute(kName, q, "axis", q.in[0]);
  const std::int64_t rows = count_before(call.in[0].shape, axis);
  const std::int64_t part = call.in[0].shape.count() / rows, whole = call.out[0].shape.count() / rows;
  const std::int64_t skipped = q.integer("before") * count_after(call.in[0].shape, axis);
  std::memset(call.out[0].data, 0, static_cast<std::size_t>(q.out[0].bytes()));
  for (std::int64_t row = 0; row < rows; ++row)
    copy_elements(call.out[0], row * whole + skipped, call.in[0], row * part, part);
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 2, 4})}, {{"before", 2}, {"after", 1}}},
          {{f32({2, 2, 3})}, {{"axis", 1}, {"after", 3}}},
          {{f32({2, 3, 1, 5})}, {{"axis", -2}, {"before", 3}}},
          {{f32({3, 4})}, {}},
          {{f32({1, 1})}, {{"before", 17}, {"after", 19}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = zeros, x, zeros along the axis",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .flops = flops_of_move,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::pad
