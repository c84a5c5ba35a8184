// The numbers of a two-dimensional convolution, checked; shared by the op and its two gradients.
#pragma once

#include "ops/window.h"

namespace thimble::ops {

constexpr AttributeDef kStrideAttribute = {"stride", AttributeKind::integer, "1"};
constexpr AttributeDef kPaddingAttribute = {"padding", AttributeKind::integer, "0"};
constexpr AttributeDef kDilationAttribute = {"dilation", AttributeKind::integer, "1"};
constexpr AttributeDef kGroupsAttribute = {"groups", AttributeKind::integer, "1"};

struct Conv2dShape {
  Shape x;  // (B, H, W, C)
  Shape w;  // (KH, KW, C/groups, O)
  Shape y;  // (B, H', W', O)
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;

  std::int64_t out_channels_per_group() const { return w[3] / groups; }
  double flops() const { return 2.0 * static_cast<double>(y.count()) * static_cast<double>(w[0] * w[1] * w[2]); }

  // The input row (or column) that a tap of a window reads; may lie in the padding.
  std::int64_t place(std::int64_t window, std::int64_t tap) const { return window * stride - padding + tap * dilation; }
};

// Both shapes have four dimensions, none zero or above kMaxExtent.
inline Conv2dShape conv2d_shape(std::string_view op, const OpQuery& q, const Shape& x, const Shape& w) {
  Conv2dShape s = {x, w, {}};
  s.stride = integer_between(op, q, "stride", 1, kMaxExtent);
  s.padding = integer_between(op, q, "padding", 0, kMaxExtent);
  s.dilation = integer_between(op, q, "dilation", 1, kMaxExtent);
  s.groups = integer_between(op, q, "groups", 1, kMaxExtent);
  require(w[2] * s.groups == x[3], op, ": x is ", x, " and w is ", w, ", wanted ", w[2], " x groups ", s.groups,
          " channels in x");
  require(w[3] % s.groups == 0, op, ": w is ", w, ", wanted a number of output channels that groups ", s.groups,
          " divides");
  s.y = {x[0], window_count(op, "height", x[1], w[0], s.stride, s.padding, s.dilation),
         window_count(op, "width", x[2], w[1], s.stride, s.padding, s.dilation), w[3]};
  return s;
}

}  // namespace thimble::ops
