// Windows that slide over images: how many fit, and where elements lie.
#pragma once

#include "ops/check.h"

namespace thimble::ops {

// Windows along one axis. All arguments are at most kMaxExtent; stride, kernel and dilation at least 1.
inline std::int64_t window_count(std::string_view op, std::string_view axis, std::int64_t extent, std::int64_t kernel,
                                 std::int64_t stride, std::int64_t padding, std::int64_t dilation) {
  const std::int64_t padded = extent + 2 * padding;
  const std::int64_t reach = (kernel - 1) * dilation + 1;
  require(reach <= padded, op, ": the kernel covers ", reach, " elements of the ", axis, ", wanted at most ", padded,
          ": ", axis, " ", extent, " and padding ", padding, " on both sides");
  return (padded - reach) / stride + 1;
}

inline std::int64_t offset_of(const Shape& shape, std::int64_t a, std::int64_t b, std::int64_t c,
                              std::int64_t d) noexcept {
  return ((a * shape[1] + b) * shape[2] + c) * shape[3] + d;
}

inline bool is_inside(std::int64_t index, std::int64_t extent) noexcept { return index >= 0 && index < extent; }

// Backward asks the other way round: which window sees this element with this tap? `position` is the element's place
// plus the padding minus the tap's reach; the answer is -1 if there is no such window.
inline std::int64_t window_at(std::int64_t position, std::int64_t stride, std::int64_t windows) noexcept {
  if (position < 0 || position % stride != 0) return -1;
  return position / stride < windows ? position / stride : -1;
}

}  // namespace thimble::ops
