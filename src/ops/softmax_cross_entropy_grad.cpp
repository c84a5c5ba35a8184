// Gradient of the loss with respect to the logits; a row whose label is out of range becomes NaN, as its loss did.
#include <limits>

#include "ops/cross_entropy.h"

namespace thimble::ops::softmax_cross_entropy_grad {
namespace {

constexpr AttributeDef kAttributes[] = {{"smoothing", AttributeKind::number, "0"}};

std::vector<Type> infer(const OpQuery& q) {
  require_cross_entropy("softmax_cross_entropy_grad", q);
  return {q.in[0]};
}

constexpr InPlacePair kInPlace[] = {{0, 0}};

double flops(const OpQuery& q) { return 6.0 * static_cast<double>(q.in[0].shape.count()); }

void reference(const OpQuery& q, const Call& call) noexcept {
  const TensorView& logits = call.in[0];
  const auto* labels = call.in[1].as<const std::int32_t>();
  const auto [rows, places, classes] = cross_entropy_shape(logits.shape);
  const double smoothing = q.number("smoothing");
  const double share = static_cast<double>(call.scalars->inverse_batch) / static_cast<double>(places);
  for (std::int64_t b = 0; b < rows; ++b) {
    const bool is_known = labels[b] >= 0 && labels[b] < classes;
    const SoftmaxRow row = softmax_row(logits, b * classes, classes);  // complete before the row may be overwritten
    for (std::int64_t k = 0; k < classes; ++k) {
      const double softmax = std::exp(load(logits, b * classes + k) - row.maximum) / row.sum;
      const double target = (k == labels[b] ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
      const double gradient = (softmax - target) * share;
      store(call.out[0], b * classes + k, is_known ? gradient : std::numeric_limits<double>::quiet_NaN());
    }
  }
}

}  // namespace

extern constinit const OpDef def = {.name = "softmax_cross_entropy_grad",
                                    .formula = "dx = (softmax(x) - target) / batch / places",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .in_place = kInPlace,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = cross_entropy_examples};

}  // namespace thimble::ops::softmax_cross_entropy_grad
