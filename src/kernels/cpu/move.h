// What the kernels share that only move elements: runs along an axis.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

static inline std::int64_t count_before(const Shape& shape, int axis) {
  std::int64_t count = 1;
  for (int k = 0; k < axis; ++k) count *= shape[k];
  return count;
}

// The axis that an attribute names; negative ones count from the end.
static inline int axis_of(const KernelQuery& q, std::string_view name) {
  const auto axis = static_cast<int>(q.attributes->integer(name));
  return axis < 0 ? axis + q.in[0].shape.rank() : axis;
}

static inline void copy_bytes(std::byte* to, const std::byte* from, Bytes bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace thimble::kernels::THIMBLE_ISA
