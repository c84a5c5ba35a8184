// Sum over all axes but the last: the gradient of a bias.
#include "kernels/cpu/columns.h"

namespace thimble::kernels::THIMBLE_ISA::channel_sum_kernel {
namespace {

std::string refuse(const KernelQuery& q) {
  if (q.in[0].shape.at(-1) < 1) return "serves at least one channel";
  return refuse_unstored(q);
}

// (threads, width rounded to cache lines)
double* carve(Carver& carver, const Matrix& m, int threads) {
  return carver.take<double>(threads * round_up(m.width(), 8));
}

Bytes workspace(const KernelQuery& q) {
  Carver carver;
  const Matrix m = matrix_of(q.in[0].shape);
  carve(carver, m, threads_for(m.count(), q.threads));
  return carver.used();
}

Status run(const KernelState&, const Call& call) noexcept {
  const Matrix m = matrix_of(call.in[0].shape);
  const int threads = threads_for(m.count(), call.threads);
  const std::int64_t stride = round_up(m.width(), 8);
  Carver carver(call.workspace);
  double* sums = carve(carver, m, threads);
  parallel(threads, [&](int thread, int count) {
    double* own = sums + thread * stride;
    clear(own, m.width());
    with_element(call.in[0].dtype, [&](auto element) {
      using T = decltype(element);
      sum_columns(elements_of(m, thread, count), m.width(), call.in[0].as<const T>(), own);
    });
    gather_folds(m, own);
  });
  for (std::int64_t c = 0; c < m.channels; ++c) {
    double sum = 0;
    for (int thread = 0; thread < threads; ++thread) sum += sums[thread * stride + c];
    store(call.out[0], c, sum);
  }
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "channel_sum",
                           .name = "channel_sum",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::channel_sum_kernel
