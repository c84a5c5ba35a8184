// Gradient of scale_channels for the scales: a dot product a sample and channel.
#include "ops/example_types.h"
#include "ops/scale_channels.h"

namespace thimble::ops::scale_channels_grad {
namespace {

constexpr std::string_view kName = "scale_channels_grad";
constexpr AttributeDef kAttributes[] = {kDTypeAttribute};

std::vector<Type> infer(const OpQuery& q) {
  require_inputs(kName, q, 2, 2);
  require_image(kName, "x", q.in[0]);
  require_type(kName, "dy", q.in[1], q.in[0]);
  const DType dtype = dtype_attribute(kName, q);
  require_scale_dtype(kName, "attribute 'dtype'", dtype, q.in[0]);
  return {{dtype, channel_shape(q.in[0])}};
}

double flops(const OpQuery& q) { return 2.0 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery&, const Call& call) noexcept {
  const Shape& x = call.in[0].shape;
  const std::int64_t positions = x[1] * x[2], channels = x[3];
  for (std::int64_t k = 0; k < call.out[0].shape.count(); ++k) {
    const std::int64_t first = k / channels * positions * channels + k % channels;
    double sum = 0;
    for (std::int64_t p = 0; p < positions; ++p) {
      sum += load(call.in[0], first + p * channels) * load(call.in[1], first + p * channels);
    }
    store(call.out[0], k, sum);
  }
}

std::vector<Example> examples() {
  return {{{f32({2, 3, 5, 7}), f32({2, 3, 5, 7})}, {}},
          {{f32({3, 1, 1, 4}), f32({3, 1, 1, 4})}, {}},
          {{f32({1, 4, 4, 33}), f32({1, 4, 4, 33})}, {}}};
}

}  // namespace

extern constinit const OpDef def = {.name = kName,
                                    .formula = "ds[b, c] = sum over h, w of x[b, h, w, c] * dy[b, h, w, c]",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = examples};

}  // namespace thimble::ops::scale_channels_grad
