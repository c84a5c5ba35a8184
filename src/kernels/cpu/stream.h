// Results so large that the cache has lost them before they are read: written past it, no line is fetched only to be
// overwritten. Only where a vector is a whole line of the cache.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr Bytes kStreamedBytes = 32 * kMiB;

template <typename T>
constexpr bool kFillsLine = kLanes * sizeof(T) == 64;

// For rows of `row` results from `results` on, of a tensor of `count`.
template <typename T>
THIMBLE_INLINE bool is_streamed(const T* results, std::int64_t count, std::int64_t row) {
  return kFillsLine<T> && count * static_cast<Bytes>(sizeof(T)) > kStreamedBytes && row % kLanes == 0 &&
         reinterpret_cast<std::uintptr_t>(results) % 64 == 0;
}

template <typename T, typename Lanes>
THIMBLE_INLINE void store_result(T* p, Vec a, Lanes lanes, bool streams) {
  if constexpr (kFillsLine<T> && std::is_same_v<Lanes, AllLanes>) {
    if (streams) return stream(p, a);
  }
  store(p, a, lanes);
}

}  // namespace thimble::kernels::THIMBLE_ISA
