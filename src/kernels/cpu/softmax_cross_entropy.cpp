// Mean loss and number of hits of a classifier.
#include "kernels/cpu/softmax.h"

namespace thimble::kernels::THIMBLE_ISA::softmax_cross_entropy_kernel {
namespace {

// One thread's sums, on a cache line of its own.
struct alignas(64) Sums {
  double loss = 0, hits = 0;
};

Bytes workspace(const KernelQuery& q) {
  return threads_for(q.in[0].shape.count(), q.threads) * static_cast<Bytes>(sizeof(Sums));
}

// loss = log(sum(exp(x))) - sum(target * x), target = (1 - smoothing) * onehot(label) + smoothing / K
template <typename T>
void add_row(const T* x, std::int64_t classes, std::int32_t label, double smoothing, Sums& sums) {
  if (label < 0 || label >= classes) {
    sums.loss = std::numeric_limits<double>::quiet_NaN();  // a wrong label must not look like a loss
    return;
  }
  const SoftmaxRow row = softmax_row(x, classes);
  double sum = 0;
  for (std::int64_t k = 0; k < classes; ++k) sum += static_cast<double>(value_of(x[k]));
  const double target =
      (1 - smoothing) * static_cast<double>(value_of(x[label])) + smoothing * sum / static_cast<double>(classes);
  sums.loss += static_cast<double>(row.maximum) + std::log(row.sum) - target;
  if (row.argmax == label && !std::isnan(row.sum)) sums.hits += 1;
}

Status run(const KernelState& base, const Call& call) noexcept {
  const double smoothing = static_cast<const SmoothingState&>(base).smoothing;
  const Rows rows = rows_of(call.in[0].shape);
  const auto* labels = call.in[1].as<const std::int32_t>();
  const int threads = threads_for(call.in[0].shape.count(), call.threads);
  auto* sums = reinterpret_cast<Sums*>(call.workspace);
  parallel(threads, [&](int thread, int count) {
    Sums own;
    with_element(call.in[0].dtype, [&](auto element) {
      const auto* x = call.in[0].as<const decltype(element)>();
      const Range part = part_of(rows.count, thread, count);
      for (std::int64_t b = part.begin; b < part.end; ++b) {
        add_row(x + b * rows.classes, rows.classes, labels[b], smoothing, own);
      }
    });
    sums[thread] = own;
  });
  double loss = 0, hits = 0;
  for (int thread = 0; thread < threads; ++thread) {
    loss += sums[thread].loss;
    hits += sums[thread].hits;
  }
  const auto places = static_cast<double>(rows.places);
  store(call.out[0], 0, loss * static_cast<double>(call.scalars->inverse_batch) / places);
  store(call.out[1], 0, hits / places);
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "softmax_cross_entropy",
                           .name = "softmax_cross_entropy",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = prepare_smoothing,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::softmax_cross_entropy_kernel
