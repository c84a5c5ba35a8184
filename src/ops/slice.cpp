// A range of one axis, by default of the channels.
#include "ir/grad_builder.h"
#include "ops/example_types.h"
#include "ops/move.h"

namespace thimble::ops::slice {
namespace {

constexpr std::string_view kName = "slice";
constexpr AttributeDef kAttributes[] = {kAxisAttribute, {"begin"}, {"end"}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  const Type& x = q.in[0];
  const int axis = inner_axis(kName, q, x);
  const std::int64_t begin = integer_between(kName, q, "begin", 0, x.shape[axis] - 1);
  const std::int64_t end = integer_between(kName, q, "end", begin + 1, x.shape[axis]);
  return {{x.dtype, with_extent(x.shape, axis, end - begin)}};
}

// What was left out had no influence: zeros.
void gradient(GradBuilder& g) {
  const std::int64_t axis = g.attributes().integer("axis"), begin = g.attributes().integer("begin");
  const std::int64_t after = g.type(g.in(0)).shape.at(static_cast<int>(axis)) - g.attributes().integer("end");
  g.give(0, g.apply("pad", {g.grad()}, {{"axis", axis}, {"before", begin}, {"after", after}}));
}
constexpr GradientRule kGradients[] = {{"from_shape", gradient}};

void reference(const OpQuery& q, const Call& call) noexcept {
  const int axis = axis_attribute(kName, q, "axis", q.in[0]);
  const std::int64_t rows = count_before(call.in[0].shape, axis);
  const std::int64_t whole = call.in[0].shape.count() / rows, part = call.out[0].shape.count() / rows;
  const std::int64_t skipped = q.integer("begin") * count_after(call.in[0].shape, axis);
  for (std::int64_t row = 0; row < rows; ++row)
    copy_elements(call.out[0], row * part, call.in[0], row * whole + skipped, part);
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 2, 7})}, {{"begin", 2}, {"end", 5}}},
          {{f32({2, 5, 3})}, {{"axis", 1}, {"begin", 0}, {"end", 2}}},
          {{f32({2, 3, 4, 5})}, {{"axis", -2}, {"begin", 3}, {"end", 4}}},
          {{f32({3, 4})}, {{"begin", 0}, {"end", 4}}},
          {{f32({1, 37})}, {{"begin", 1}, {"end", 37}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = x[begin .. end) along the axis",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .flops = flops_of_move,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::slice
