// What is asked of the gradient of a convolution's weights, whatever its sums are made of.
#pragma once

#include "kernels/cpu/update.h"

namespace thimble::kernels::THIMBLE_ISA {

struct WeightCall {
  const TensorView& x;
  const TensorView& dy;
  const UpdateRun& update;  // what becomes of finished sums
  const TensorView& out;    // of a plan whose sums are the output
  std::byte* workspace = nullptr;
  int threads = 1;
  bool adds = false;                      // to what `out` holds
  std::span<const TensorView> norm = {};  // statistics and parameters of the norm of x, if it has one
};

// Ends neighbouring elements of the gradient: those summed in parts, `step` apart, are added in the order of the parts.
inline void finish_sums(const WeightCall& call, const float* sums, int parts, std::int64_t step, std::int64_t place,
                        std::int64_t count) noexcept {
  alignas(64) float totals[kBlock];
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t length = smaller(kBlock, count - first);
    const float* gradient = sums + first;
    if (parts > 1) {
      each_vector(0, length, [&](std::int64_t i, auto lanes) {
        Vec total = load(gradient + i, lanes);
        for (int k = 1; k < parts; ++k) total = add(total, load(gradient + k * step + i, lanes));
        store(totals + i, total, lanes);
      });
      gradient = totals;
    }
    call.update.apply(gradient, place + first, length);
  }
}

}  // namespace thimble::kernels::THIMBLE_ISA
