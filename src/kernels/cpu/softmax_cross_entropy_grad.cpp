// dlogits = (softmax - target) / batch, row by row; a row is summed before it may be overwritten.
#include "kernels/cpu/softmax.h"

namespace thimble::kernels::THIMBLE_ISA::softmax_cross_entropy_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

THIMBLE_INLINE void set(float* p, float value) { *p = value; }
THIMBLE_INLINE void set(BFloat16* p, float value) { *p = to_bfloat16(value); }

template <typename T>
void gradient_row(const T* x, std::int64_t classes, std::int32_t label, double smoothing, double share, T* dx) {
  const bool is_known = label >= 0 && label < classes;
  const SoftmaxRow row = softmax_row(x, classes);
  const double even = smoothing / static_cast<double>(classes);
  for (std::int64_t k = 0; k < classes; ++k) {
    const double softmax = static_cast<double>(std::exp(value_of(x[k]) - row.maximum)) / row.sum;
    const double target = (k == label ? 1 - smoothing : 0) + even;
    set(dx + k, is_known ? static_cast<float>((softmax - target) * share) : std::numeric_limits<float>::quiet_NaN());
  }
}

Status run(const KernelState& base, const Call& call) noexcept {
  const double smoothing = static_cast<const SmoothingState&>(base).smoothing;
  const Rows rows = rows_of(call.in[0].shape);
  const auto* labels = call.in[1].as<const std::int32_t>();
  const double share = static_cast<double>(call.scalars->inverse_batch) / static_cast<double>(rows.places);
  with_element(call.in[0].dtype, [&](auto element) {
    using T = decltype(element);
    const int threads = threads_for(call.in[0].shape.count(), call.threads);
    parallel_for(threads, rows.count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        gradient_row(call.in[0].as<const T>() + b * rows.classes, rows.classes, labels[b], smoothing, share,
                     call.out[0].as<T>() + b * rows.classes);
      }
    });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "softmax_cross_entropy_grad",
                           .name = "softmax_cross_entropy_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare_smoothing,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::softmax_cross_entropy_grad_kernel
