// Two axes of a tensor change places, by default the last two.
#include <algorithm>

#include "ir/grad_builder.h"
#include "ops/example_types.h"
#include "ops/move.h"

namespace thimble::ops::transpose {
namespace {

constexpr std::string_view kName = "transpose";
constexpr AttributeDef kAttributes[] = {{"axis0", AttributeKind::integer, "-2"},
                                        {"axis1", AttributeKind::integer, "-1"}};

Shape exchanged(const Shape& shape, int a, int b) {
  std::array<std::int64_t, Shape::kMaxRank> dims{};
  std::copy(shape.dims().begin(), shape.dims().end(), dims.begin());
  std::swap(dims[static_cast<std::size_t>(a)], dims[static_cast<std::size_t>(b)]);
  return Shape(std::span<const std::int64_t>(dims.data(), static_cast<std::size_t>(shape.rank())));
}

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  const Type& x = q.in[0];
  require_floating(kName, "x", x);
  require_not_empty(kName, "x", x);
  require(x.shape.rank() >= 2, kName, ": x is ", x, ", wanted at least two dimensions");
  return {{x.dtype, exchanged(x.shape, axis_attribute(kName, q, "axis0", x), axis_attribute(kName, q, "axis1", x))}};
}

// The same exchange puts everything back.
void gradient(GradBuilder& g) { g.give(0, g.apply("transpose", {g.grad()}, g.attributes())); }
constexpr GradientRule kGradients[] = {{"from_shape", gradient}};

void reference(const OpQuery& q, const Call& call) noexcept {
  const Shape &x = call.in[0].shape, &y = call.out[0].shape;
  const int a = axis_attribute(kName, q, "axis0", q.in[0]), b = axis_attribute(kName, q, "axis1", q.in[0]);
  for (std::int64_t i = 0; i < x.count(); ++i) {
    std::int64_t place = 0;
    for (int axis = 0; axis < x.rank(); ++axis) {
      const int to_axis = axis == a ? b : axis == b ? a : axis;
      place += i / count_after(x, axis) % x[axis] * count_after(y, to_axis);
    }
    copy_elements(call.out[0], place, call.in[0], i, 1);
  }
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5})}, {}},
          {{f32({19, 35})}, {{"axis0", 0}, {"axis1", 1}}},
          {{f32({2, 3, 4, 5})}, {{"axis0", 1}, {"axis1", 2}}},
          {{f32({2, 5, 3, 4})}, {{"axis0", 3}, {"axis1", 1}}},
          {{f32({3, 1, 2, 2, 2, 3})}, {{"axis0", 0}, {"axis1", -2}}},
          {{f32({4, 3})}, {{"axis0", 1}, {"axis1", 1}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y[..., j, ..., i, ...] = x[..., i, ..., j, ...]",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .flops = flops_of_move,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::transpose
