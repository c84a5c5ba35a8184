// Sums of squares in double, one row of lanes a thread: what the lengths of gradients are made of. Rows are added in
// the order of threads, so the result depends on their number alone.
#pragma once

#include "kernels/cpu/blocks.h"

namespace thimble::kernels::THIMBLE_ISA {

// (threads, lanes); a row fills whole cache lines
static inline double* carve_square_sums(Carver& carver, int threads) { return carver.take<double>(threads * kLanes); }

static inline Bytes square_sum_bytes(int threads) {
  Carver carver;
  carve_square_sums(carver, threads);
  return carver.used();
}

// Lanes past a short end read as zero and add nothing.
template <typename T>
void add_squares(double* sums, const T* values, std::int64_t count) {
  each_vector(0, count, [=](std::int64_t i, auto lanes) { add_squares_to(sums, load(values + i, lanes)); });
}

// Calls body(own, thread, threads) on every thread with a row of its own, at zero; the root of what all rows hold in
// the end goes to `length`.
template <typename Body>
void root_of_squares(const Call& call, int threads, const TensorView& length, Body&& body) noexcept {
  Carver carver(call.workspace);
  double* sums = carve_square_sums(carver, threads);
  parallel(threads, [&](int thread, int count) {
    double* own = sums + thread * kLanes;
    for (int lane = 0; lane < kLanes; ++lane) own[lane] = 0;
    body(own, thread, count);
  });
  double sum = 0;
  for (int i = 0; i < threads * kLanes; ++i) sum += sums[i];
  store(length, 0, std::sqrt(sum));
}

}  // namespace thimble::kernels::THIMBLE_ISA
