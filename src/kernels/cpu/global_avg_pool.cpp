// Mean over all positions of an image, sample by sample.
#include "kernels/cpu/columns.h"

namespace thimble::kernels::THIMBLE_ISA::global_avg_pool_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

Matrix sample_matrix(const Shape& x) { return matrix_of(x[1] * x[2], x[3], x.count()); }

// (threads, width rounded to cache lines)
double* carve(Carver& carver, const Matrix& m, int threads) {
  return carver.take<double>(threads * round_up(m.width(), 8));
}

Bytes workspace(const KernelQuery& q) {
  Carver carver;
  const Shape& x = q.in[0].shape;
  carve(carver, sample_matrix(x), threads_for(x.count(), q.threads));
  return carver.used();
}

Status run(const KernelState&, const Call& call) noexcept {
  const Shape& x = call.in[0].shape;
  const Matrix m = sample_matrix(x);
  const int threads = threads_for(x.count(), call.threads);
  Carver carver(call.workspace);
  double* sums = carve(carver, m, threads);
  parallel(threads, [&](int thread, int count) {
    double* own = sums + thread * round_up(m.width(), 8);
    const Range samples = part_of(x[0], thread, count);
    for (std::int64_t sample = samples.begin; sample < samples.end; ++sample) {
      clear(own, m.width());
      with_element(call.in[0].dtype, [&](auto element) {
        using T = decltype(element);
        sum_columns({sample * m.count(), (sample + 1) * m.count()}, m.width(), call.in[0].as<const T>(), own);
      });
      gather_folds(m, own);
      for (std::int64_t c = 0; c < m.channels; ++c) {
        store(call.out[0], sample * m.channels + c, own[c] / static_cast<double>(m.rows));
      }
    }
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "global_avg_pool",
                           .name = "global_avg_pool",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::global_avg_pool_kernel
