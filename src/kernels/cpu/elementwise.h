// Kernels that make each element of one output from the same element of the inputs, all of one dtype.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

// out[i] = map(a[i])
template <typename Map>
void map_unary(const Call& call, Map map) noexcept {
  const std::int64_t count = call.out[0].shape.count();
  with_element(call.out[0].dtype, [&](auto element) {
    using T = decltype(element);
    const T* a = call.in[0].as<const T>();
    T* out = call.out[0].as<T>();
    parallel_for(threads_for(count, call.threads), count, [=](std::int64_t begin, std::int64_t end) {
      each_vector(begin, end, [=](std::int64_t i, auto lanes) { store(out + i, map(load(a + i, lanes)), lanes); });
    });
  });
}

// out[i] = map(a[i], b[i]). kIsExact: what it makes is one of its operands, or zero, and need not be rounded.
template <bool kIsExact = false, typename Map>
void map_binary(const Call& call, Map map) noexcept {
  const std::int64_t count = call.out[0].shape.count();
  with_element(call.out[0].dtype, [&](auto element) {
    using T = decltype(element);
    const T* a = call.in[0].as<const T>();
    const T* b = call.in[1].as<const T>();
    T* out = call.out[0].as<T>();
    parallel_for(threads_for(count, call.threads), count, [=](std::int64_t begin, std::int64_t end) {
      each_vector(begin, end, [=](std::int64_t i, auto lanes) {
        const Vec made = map(load(a + i, lanes), load(b + i, lanes));
        if constexpr (kIsExact) {
          store_bits(out + i, made, lanes);
        } else {
          store(out + i, made, lanes);
        }
      });
    });
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA
