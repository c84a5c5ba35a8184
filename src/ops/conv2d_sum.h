// A convolution by its definition; judge of the ops that compute one, whatever they read in the place of x.
#pragma once

#include "ops/activation.h"
#include "ops/conv2d_shape.h"

namespace thimble::ops {

// sum over taps and the group's channels of source * w
template <typename Source>
double window_sum(const Conv2dShape& s, const Source& source, const TensorView& weights, std::int64_t b,
                  std::int64_t row, std::int64_t column, std::int64_t o) noexcept {
  const std::int64_t first_channel = o / s.out_channels_per_group() * s.w[2];
  double sum = 0;
  for (std::int64_t i = 0; i < s.w[0]; ++i) {
    const std::int64_t h = s.place(row, i);
    if (!is_inside(h, s.x[1])) continue;
    for (std::int64_t j = 0; j < s.w[1]; ++j) {
      const std::int64_t w = s.place(column, j);
      if (!is_inside(w, s.x[2])) continue;
      for (std::int64_t c = 0; c < s.w[2]; ++c)
        sum += source(offset_of(s.x, b, h, w, first_channel + c)) * load(weights, offset_of(s.w, i, j, c, o));
    }
  }
  return sum;
}

template <typename Source>
void convolve(const Conv2dShape& s, const Source& source, const TensorView& weights, const TensorView* bias,
              Activation activation, const TensorView& y) noexcept {
  for (std::int64_t b = 0; b < s.y[0]; ++b) {
    for (std::int64_t row = 0; row < s.y[1]; ++row) {
      for (std::int64_t column = 0; column < s.y[2]; ++column) {
        for (std::int64_t o = 0; o < s.y[3]; ++o) {
          const double sum = window_sum(s, source, weights, b, row, column, o) + (bias ? load(*bias, o) : 0);
          store(y, offset_of(s.y, b, row, column, o), activate(activation, sum));
        }
      }
    }
  }
}

}  // namespace thimble::ops
