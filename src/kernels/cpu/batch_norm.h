// Batch norm in pieces that batch_norm, batch_moments and normalize put together, so that all three give the same bits.
#pragma once

#include "kernels/cpu/norm.h"

namespace thimble::kernels::THIMBLE_ISA {

// Workspace of the statistics. Each thread takes the moments of its own rows; they are combined in the order of
// threads.
struct BatchMomentSpace {
  ColumnSums* sums = nullptr;  // (threads)
  Moments* moments = nullptr;  // (threads, channels)

  static BatchMomentSpace carve(Carver& carver, const Matrix& m, int threads) {
    BatchMomentSpace space{carver.take<ColumnSums>(threads), carver.take<Moments>(threads * m.channels)};
    for (int thread = 0; thread < threads; ++thread) {
      const ColumnSums sums = ColumnSums::carve(carver, m);
      if (space.sums != nullptr) space.sums[thread] = sums;
    }
    return space;
  }
};

static inline void batch_moments(const Matrix& m, const TensorView& x, double eps, int threads,
                                 const BatchMomentSpace& space, const TensorView& mean, const TensorView& rstd) {
  parallel(threads, [&](int thread, int count) {
    moments_of_range(m, x, elements_of(m, thread, count), space.sums[thread], space.moments + thread * m.channels);
  });
  for (std::int64_t c = 0; c < m.channels; ++c) {
    const Moments all = combine_moments(space.moments + c, threads, 1, m.channels);
    store(mean, c, all.mean);
    store(rstd, c, rstd_of(all, eps));
  }
}

static inline void normalize_batch(const Matrix& m, const Normalized& what, int threads, const Coefficients& from) {
  parallel(threads, [&](int thread, int count) { normalize_range(m, what, elements_of(m, thread, count), from); });
}

}  // namespace thimble::kernels::THIMBLE_ISA
