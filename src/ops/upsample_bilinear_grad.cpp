// Gradient of upsample_bilinear: every element collects from the places that were made of it.
#include "ops/bilinear.h"
#include "ops/example_types.h"
#include "ops/pool_shape.h"

namespace thimble::ops::upsample_bilinear_grad {
namespace {

constexpr std::string_view kName = "upsample_bilinear_grad";
constexpr AttributeDef kAttributes[] = {{"height"}, {"width"}};  // of the image before it was resized

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 1, 1);
  const Type& dy = q.in[0];
  require_image(kName, "dy", dy);
  return {{dy.dtype,
           {dy.shape[0], integer_between(kName, q, "height", 1, kMaxExtent),
            integer_between(kName, q, "width", 1, kMaxExtent), dy.shape[3]}}};
}

double flops(const OpQuery& q) { return 8.0 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const Shape &y = call.in[0].shape, &x = call.out[0].shape;
  for_each_place(x, [&](std::int64_t b, std::int64_t h, std::int64_t w, std::int64_t c) {
    double sum = 0;
    for (std::int64_t row = 0; row < y[1]; ++row) {
      const double share = share_of(h, row, x[1], y[1]);
      if (share == 0) continue;
      for (std::int64_t column = 0; column < y[2]; ++column) {
        const double both = share * share_of(w, column, x[2], y[2]);
        if (both != 0) sum += both * load(call.in[0], offset_of(y, b, row, column, c));
      }
    }
    store(call.out[0], offset_of(x, b, h, w, c), sum);
  });
}

std::vector<Example> examples() {
  return {{{f32({2, 6, 8, 3})}, {{"height", 3}, {"width", 4}}},  {{f32({1, 3, 2, 5})}, {{"height", 1}, {"width", 1}}},
          {{f32({1, 5, 4, 17})}, {{"height", 2}, {"width", 3}}}, {{f32({2, 2, 3, 2})}, {{"height", 5}, {"width", 4}}},
          {{f32({1, 3, 2, 1})}, {{"height", 3}, {"width", 2}}},  {{f32({1, 8, 6, 2})}, {{"height", 2}, {"width", 2}}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "dx = sum over the places made of x of dy * share",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::upsample_bilinear_grad
