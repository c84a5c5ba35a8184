// Square windows sliding over (B, H, W, C) images: which rows and columns a window sees, and which windows see a row or
// column.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

struct PoolState : KernelState {
  std::int64_t kernel = 1, stride = 1, padding = 0;

  explicit PoolState(const Attributes& attributes)
      : kernel(attributes.integer("kernel")),
        stride(attributes.integer("stride")),
        padding(attributes.integer("padding")) {}

  // Input places that window `window` of an axis with `extent` places sees.
  Range seen_by(std::int64_t window, std::int64_t extent) const {
    const std::int64_t first = window * stride - padding;
    return {larger(first, 0), smaller(first + kernel, extent)};
  }
  // Windows, of `windows`, that see input place `place`.
  Range windows_of(std::int64_t place, std::int64_t windows) const {
    const std::int64_t reach = place + padding;
    const std::int64_t first = reach < kernel ? 0 : (reach - kernel) / stride + 1;
    return {first, smaller(reach / stride + 1, windows)};
  }
};

static inline std::unique_ptr<KernelState> prepare_pool(const KernelQuery& q) {
  return std::make_unique<PoolState>(*q.attributes);
}

// Calls body(b, row) for every row of (B, H, W, C) images.
template <typename Body>
void each_image_row(const Shape& shape, int threads, Body&& body) {
  parallel_for(threads, shape[0] * shape[1], [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row / shape[1], row % shape[1]);
  });
}

THIMBLE_INLINE std::int64_t offset_of(const Shape& shape, std::int64_t b, std::int64_t h, std::int64_t w) {
  return ((b * shape[1] + h) * shape[2] + w) * shape[3];
}

}  // namespace thimble::kernels::THIMBLE_ISA
