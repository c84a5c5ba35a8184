// Images brought to another size by bilinear interpolation; align_corners=false, as PyTorch's default.
#include "ir/grad_builder.h"
#include "ops/bilinear.h"
#include "ops/example_types.h"
#include "ops/pool_shape.h"

namespace thimble::ops::upsample_bilinear {
namespace {

constexpr std::string_view kName = "upsample_bilinear";
constexpr AttributeDef kAttributes[] = {{"height"}, {"width"}};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  const Type& x = q.in[0];
  require_image(kName, "x", x);
  return {{x.dtype,
           {x.shape[0], integer_between(kName, q, "height", 1, kMaxExtent),
            integer_between(kName, q, "width", 1, kMaxExtent), x.shape[3]}}};
}

void gradient(GradBuilder& g) {
  const Shape x = g.type(g.in(0)).shape;
  g.give(0, g.apply("upsample_bilinear_grad", {g.grad()}, {{"height", x[1]}, {"width", x[2]}}));
}
constexpr GradientRule kGradients[] = {{"from_shape", gradient}};

// Four weights and four products an element.
double flops(const OpQuery& q) { return 8.0 * static_cast<double>(q.out[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const Shape &x = call.in[0].shape, &y = call.out[0].shape;
  for_each_place(y, [&](std::int64_t b, std::int64_t row, std::int64_t column, std::int64_t c) {
    const BetweenPlaces h = between_places(row, x[1], y[1]), w = between_places(column, x[2], y[2]);
    const auto at = [&](std::int64_t i, std::int64_t j) { return load(call.in[0], offset_of(x, b, i, j, c)); };
    const double upper = (1 - w.share) * at(h.low, w.low) + w.share * at(h.low, w.high);
    const double lower = (1 - w.share) * at(h.high, w.low) + w.share * at(h.high, w.high);
    store(call.out[0], offset_of(y, b, row, column, c), (1 - h.share) * upper + h.share * lower);
  });
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 4, 3})}, {{"height", 6}, {"width", 8}}},  {{f32({1, 1, 1, 5})}, {{"height", 3}, {"width", 2}}},
          {{f32({1, 2, 3, 17})}, {{"height", 5}, {"width", 4}}}, {{f32({2, 5, 4, 2})}, {{"height", 2}, {"width", 3}}},
          {{f32({1, 3, 2, 1})}, {{"height", 3}, {"width", 2}}},  {{f32({1, 2, 2, 2})}, {{"height", 8}, {"width", 6}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "y = mean of the four nearest x, weighted by nearness",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::upsample_bilinear
