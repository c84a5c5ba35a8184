// Tensors side by side along one axis, by default the channels.
#include "ir/grad_builder.h"
#include "ops/example_types.h"
#include "ops/move.h"

namespace thimble::ops::concat {
namespace {

constexpr std::string_view kName = "concat";
constexpr AttributeDef kAttributes[] = {kAxisAttribute};
constexpr std::size_t kMostInputs = 64;

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, kMostInputs);
  const Type& first = q.in[0];
  const int axis = inner_axis(kName, q, first);
  std::int64_t extent = 0;
  for (std::size_t k = 0; k < q.in.size(); ++k) {
    const Type& x = q.in[k];
    require_not_empty(kName, join_text("input ", k), x);
    const bool fits = x.dtype == first.dtype && x.layout == first.layout && x.shape.rank() == first.shape.rank() &&
                      with_extent(first.shape, axis, x.shape[axis]) == x.shape;
    require(fits, kName, ": input ", k, " is ", x, ", wanted ", first, " but for axis ", axis);
    extent += x.shape[axis];
  }
  return {{first.dtype, with_extent(first.shape, axis, extent)}};
}

// Every input gets its own part of dy; no input is read.
void gradient(GradBuilder& g) {
  const std::int64_t axis = g.attributes().integer("axis");
  std::int64_t begin = 0;
  for (int k = 0; k < g.input_count(); ++k) {
    const std::int64_t end = begin + g.type(g.in(k)).shape.at(static_cast<int>(axis));
    if (g.wants(k)) g.give(k, g.apply("slice", {g.grad()}, {{"axis", axis}, {"begin", begin}, {"end", end}}));
    begin = end;
  }
}
constexpr GradientRule kGradients[] = {{"from_shape", gradient}};

void reference(const OpQuery& q, const Call& call) noexcept {
  const Shape& y = call.out[0].shape;
  const std::int64_t rows = count_before(y, axis_attribute(kName, q, "axis", q.out[0]));
  std::int64_t place = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (const TensorView& x : call.in) {
      const std::int64_t run = x.shape.count() / rows;
      copy_elements(call.out[0], place, x, row * run, run);
      place += run;
    }
  }
}

// One example for each number of inputs.
std::vector<Example> examples() {
  std::vector<Example> all = {
      {{f32({2, 3, 2, 5}), f32({2, 3, 2, 3})}, {}},
      {{f32({2, 2, 3}), f32({2, 4, 3}), f32({2, 1, 3})}, {{"axis", 1}}},
      {{f32({2, 1, 2, 3}), f32({2, 1, 1, 3}), f32({2, 1, 3, 3}), f32({2, 1, 1, 3})}, {{"axis", -2}}}};
  for (std::size_t count = 5; count <= kMostInputs; ++count) {
    Example many;
    for (std::size_t k = 0; k < count; ++k) many.in.push_back(f32({2, static_cast<std::int64_t>(k * count % 3 + 1)}));
    all.push_back(many);
  }
  return all;
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = x0, x1, ... one behind the other along the axis",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .flops = flops_of_move,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::concat
