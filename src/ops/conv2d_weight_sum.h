// The gradient of a convolution's weights by its definition; judge of the ops that store it or add it up.
#pragma once

#include "ops/conv2d_shape.h"

namespace thimble::ops {

// sum over samples and windows of source * dy
template <typename Source>
double weight_gradient_element(const Conv2dShape& s, const Source& source, const TensorView& dy, std::int64_t i,
                               std::int64_t j, std::int64_t c, std::int64_t o) noexcept {
  const std::int64_t channel = o / s.out_channels_per_group() * s.w[2] + c;
  double sum = 0;
  for (std::int64_t b = 0; b < s.y[0]; ++b) {
    for (std::int64_t row = 0; row < s.y[1]; ++row) {
      const std::int64_t h = s.place(row, i);
      if (!is_inside(h, s.x[1])) continue;
      for (std::int64_t column = 0; column < s.y[2]; ++column) {
        const std::int64_t w = s.place(column, j);
        if (!is_inside(w, s.x[2])) continue;
        sum += source(offset_of(s.x, b, h, w, channel)) * load(dy, offset_of(s.y, b, row, column, o));
      }
    }
  }
  return sum;
}

// Calls write(place, sum) for every element of the gradient, in order.
template <typename Source, typename Write>
void for_weight_gradient(const Conv2dShape& s, const Source& source, const TensorView& dy, Write&& write) noexcept {
  for (std::int64_t i = 0; i < s.w[0]; ++i) {
    for (std::int64_t j = 0; j < s.w[1]; ++j) {
      for (std::int64_t c = 0; c < s.w[2]; ++c) {
        for (std::int64_t o = 0; o < s.w[3]; ++o)
          write(offset_of(s.w, i, j, c, o), weight_gradient_element(s, source, dy, i, j, c, o));
      }
    }
  }
}

// The shape of a gradient whose kernel's size stands in attributes.
inline Shape weight_shape(std::string_view op, const OpQuery& q, const Type& x, const Type& dy) {
  const std::int64_t groups = integer_between(op, q, "groups", 1, kMaxExtent);
  require(x.shape[3] % groups == 0, op, ": x is ", x, ", wanted a number of channels that groups ", groups, " divides");
  return {integer_between(op, q, "kernel_height", 1, kMaxExtent), integer_between(op, q, "kernel_width", 1, kMaxExtent),
          x.shape[3] / groups, dy.shape[3]};
}

}  // namespace thimble::ops
