// The loss of a classifier. Softmax and loss in one op because the gradient then reads the logits alone.
#include <limits>

#include "ir/grad_builder.h"
#include "ops/cross_entropy.h"

namespace thimble::ops::softmax_cross_entropy {
namespace {

constexpr AttributeDef kAttributes[] = {{"smoothing", AttributeKind::number, "0"}};

std::vector<Type> infer(const OpQuery& q) {
  require_cross_entropy("softmax_cross_entropy", q);
  const DType dtype = q.in[0].dtype == DType::f64 ? DType::f64 : DType::f32;
  return {{dtype, {1}}, {dtype, {1}}};
}

// The loss is where backward begins: its own gradient is one and is not read.
void from_logits(GradBuilder& g) {
  if (!g.wants(0)) return;
  g.give(0, g.apply("softmax_cross_entropy_grad", {g.in(0), g.in(1)},
                    {{"smoothing", g.attributes().number("smoothing")}}));
}
constexpr GradientRule kGradients[] = {{"from_logits", from_logits}};

double flops(const OpQuery& q) { return 5.0 * static_cast<double>(q.in[0].shape.count()); }

// loss of a row = log(sum(exp(x))) - sum(target * x), target = (1 - smoothing) * onehot(label) + smoothing / K
void reference(const OpQuery& q, const Call& call) noexcept {
  const TensorView& logits = call.in[0];
  const auto* labels = call.in[1].as<const std::int32_t>();
  const auto [rows, places, classes] = cross_entropy_shape(logits.shape);
  const double smoothing = q.number("smoothing");
  double loss = 0, hits = 0;
  for (std::int64_t b = 0; b < rows; ++b) {
    if (labels[b] < 0 || labels[b] >= classes) {
      loss = std::numeric_limits<double>::quiet_NaN();  // a wrong label must not look like a loss
      continue;
    }
    const SoftmaxRow row = softmax_row(logits, b * classes, classes);
    double sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) sum += load(logits, b * classes + k);
    const double target =
        (1 - smoothing) * load(logits, b * classes + labels[b]) + smoothing * sum / static_cast<double>(classes);
    loss += row.maximum + std::log(row.sum) - target;
    if (row.argmax == labels[b] && !std::isnan(row.sum)) hits += 1;  // a NaN among the logits is never a hit
  }
  store(call.out[0], 0, loss * static_cast<double>(call.scalars->inverse_batch) / static_cast<double>(places));
  store(call.out[1], 0, hits / static_cast<double>(places));
}

}  // namespace

extern constinit const OpDef def = {.name = "softmax_cross_entropy",
                                    .formula =
                                        "loss = sum over rows of (log(sum(exp(x))) - sum(target * x)) / batch / "
                                        "places; hits = rows whose first maximum is the label / places",
                                    .attributes = kAttributes,
                                    .infer = infer,
                                    .gradients = kGradients,
                                    .flops = flops,
                                    .reference = reference,
                                    .examples = cross_entropy_examples};

}  // namespace thimble::ops::softmax_cross_entropy
