// The numbers of a pooling op over square windows, checked; shared by the ops and their gradients.
#pragma once

#include "ops/window.h"

namespace thimble::ops {

constexpr AttributeDef kPoolKernelAttribute = {"kernel"};
constexpr AttributeDef kPoolStrideAttribute = {"stride"};
constexpr AttributeDef kPoolPaddingAttribute = {"padding", AttributeKind::integer, "0"};
constexpr AttributeDef kPoolCeilAttribute = {"ceil", AttributeKind::integer, "0"};  // 1: the last window may hang over

struct PoolShape {
  Shape x;  // (B, H, W, C)
  Shape y;  // (B, H', W', C)
  std::int64_t kernel = 1, stride = 1, padding = 0;
};

// Windows along one axis. With `hangs_over` also one that begins inside and ends behind the border, as long as it
// begins on an element or the padding before it.
inline std::int64_t pool_windows(std::string_view op, std::string_view axis, std::int64_t extent, const PoolShape& s,
                                 bool hangs_over) {
  const std::int64_t whole = window_count(op, axis, extent, s.kernel, s.stride, s.padding, 1);
  const std::int64_t rest = (extent + 2 * s.padding - s.kernel) % s.stride;
  return whole + (hangs_over && rest != 0 && whole * s.stride < extent + s.padding ? 1 : 0);
}

// x has four dimensions, none zero or above kMaxExtent. Padding stays below the kernel: every window sees at least one
// element. `can_hang_over`: the op has the attribute "ceil".
inline PoolShape pool_shape(std::string_view op, const OpQuery& q, const Shape& x, std::int64_t max_kernel,
                            bool can_hang_over) {
  PoolShape s = {x, {}};
  s.kernel = integer_between(op, q, "kernel", 1, max_kernel);
  s.stride = integer_between(op, q, "stride", 1, kMaxExtent);
  s.padding = integer_between(op, q, "padding", 0, s.kernel - 1);
  const bool hangs_over = can_hang_over && integer_between(op, q, "ceil", 0, 1) == 1;
  s.y = {x[0], pool_windows(op, "height", x[1], s, hangs_over), pool_windows(op, "width", x[2], s, hangs_over), x[3]};
  return s;
}

// The type of dx, from dy and the attributes height and width; refused unless pooling dx gives dy's shape.
inline Type infer_pool_grad(std::string_view op, const OpQuery& q, std::int64_t max_kernel, bool can_hang_over) {
  const Type& dy = q.in[0];
  require_image(op, "dy", dy);
  const Shape x = {dy.shape[0], integer_between(op, q, "height", 1, kMaxExtent),
                   integer_between(op, q, "width", 1, kMaxExtent), dy.shape[3]};
  require_shape_for(op, "dy", dy, pool_shape(op, q, x, max_kernel, can_hang_over).y, q);
  return {dy.dtype, x};
}

// Calls body(output offset, tap) for every window that sees element (b, h, w, c).
template <typename Body>
void for_each_window(const PoolShape& s, std::int64_t b, std::int64_t h, std::int64_t w, std::int64_t c,
                     Body&& body) noexcept {
  for (std::int64_t i = 0; i < s.kernel; ++i) {
    const std::int64_t row = window_at(h + s.padding - i, s.stride, s.y[1]);
    if (row < 0) continue;
    for (std::int64_t j = 0; j < s.kernel; ++j) {
      const std::int64_t column = window_at(w + s.padding - j, s.stride, s.y[2]);
      if (column >= 0) body(offset_of(s.y, b, row, column, c), i * s.kernel + j);
    }
  }
}

// Calls body(input offset, tap) for every element that window (row, column) sees, in the order of the taps.
template <typename Body>
void for_each_element(const PoolShape& s, std::int64_t b, std::int64_t row, std::int64_t column, std::int64_t c,
                      Body&& body) noexcept {
  for (std::int64_t i = 0; i < s.kernel; ++i) {
    const std::int64_t h = row * s.stride - s.padding + i;
    if (!is_inside(h, s.x[1])) continue;
    for (std::int64_t j = 0; j < s.kernel; ++j) {
      const std::int64_t w = column * s.stride - s.padding + j;
      if (is_inside(w, s.x[2])) body(offset_of(s.x, b, h, w, c), i * s.kernel + j);
    }
  }
}

// Calls body(b, h, w, c) for every place of an image.
template <typename Body>
void for_each_place(const Shape& shape, Body&& body) noexcept {
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::int64_t h = 0; h < shape[1]; ++h) {
      for (std::int64_t w = 0; w < shape[2]; ++w) {
        for (std::int64_t c = 0; c < shape[3]; ++c) body(b, h, w, c);
      }
    }
  }
}

}  // namespace thimble::ops
