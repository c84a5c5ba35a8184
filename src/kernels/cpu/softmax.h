// One row of a softmax and its target: what the loss and its gradient share. Exponentials in f32, sums in double.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

struct SmoothingState : KernelState {
  double smoothing = 0;
};
static inline std::unique_ptr<KernelState> prepare_smoothing(const KernelQuery& q) {
  auto state = std::make_unique<SmoothingState>();
  state->smoothing = q.attributes->number("smoothing");
  return state;
}

THIMBLE_INLINE float value_of(float x) { return x; }
THIMBLE_INLINE float value_of(BFloat16 x) { return to_float(x); }

struct SoftmaxRow {
  float maximum = 0;
  double sum = 0;           // of exp(x - maximum)
  std::int64_t argmax = 0;  // the first maximum
};

// Logits (B, ..., K): every place of a sample is a row.
struct Rows {
  std::int64_t count = 0;   // of all samples
  std::int64_t places = 0;  // of one sample
  std::int64_t classes = 0;
};
static inline Rows rows_of(const Shape& logits) {
  const std::int64_t count = logits.count() / logits.at(-1);
  return {count, count / logits[0], logits.at(-1)};
}

template <typename T>
SoftmaxRow softmax_row(const T* x, std::int64_t classes) {
  SoftmaxRow row{value_of(x[0]), 0, 0};
  for (std::int64_t k = 1; k < classes; ++k) {
    if (value_of(x[k]) > row.maximum) {
      row.maximum = value_of(x[k]);
      row.argmax = k;
    }
  }
  for (std::int64_t k = 0; k < classes; ++k) row.sum += static_cast<double>(std::exp(value_of(x[k]) - row.maximum));
  return row;
}

}  // namespace thimble::kernels::THIMBLE_ISA
