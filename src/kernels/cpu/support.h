// What the elementwise, norm, pool and update kernels share: the standard and base headers they need (before simd.h,
// which must come last), choice of element type, number of threads and division of the workspace. Include it first and
// let nothing follow but ours.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/call.h"
#include "base/parallel.h"
#include "base/random.h"
#include "kernels/kernel.h"

#include "kernels/cpu/simd.h"

namespace thimble::kernels::THIMBLE_ISA {

// Below this many elements waking the pool costs more than it brings. Decided by size alone: results depend on the
// thread count.
constexpr std::int64_t kSmallCount = 16 * 1024;

constexpr std::int64_t kLineBytes = 64;  // of the caches

// Kernels that mostly round are compiled for the instruction that rounds a vector to bf16 too, and serve bf16 alone
// there.
constexpr bool kRoundsAtOnce = kIsa == Isa::avx512_bf16;

THIMBLE_INLINE int threads_for(std::int64_t count, int threads) { return count < kSmallCount ? 1 : threads; }
THIMBLE_INLINE std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
THIMBLE_INLINE std::int64_t larger(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// Of the bit of a vector's first element, where bits begin with a byte: vectors of fewer than eight lanes share one.
THIMBLE_INLINE int place_in_byte(std::int64_t element) { return kLanes < 8 ? static_cast<int>(element % 8) : 0; }

THIMBLE_INLINE bool is_stored(DType dtype) { return dtype == DType::f32 || dtype == DType::bf16; }

static inline std::string refuse_unless(bool served, std::string_view reason) {
  return served ? "" : std::string(reason);
}

// Every floating tensor is f32 or bf16, as the kernels with conversion at the border want it.
static inline std::string refuse_unstored(const KernelQuery& q) {
  for (const std::span<const Type> types : {q.in, q.out}) {
    for (const Type& type : types) {
      if (is_floating(type.dtype) && !is_stored(type.dtype)) return "serves f32 and bf16 only";
    }
  }
  return "";
}

// The first `in_count` inputs and the first output share one stored dtype.
static inline std::string refuse_mixed(const KernelQuery& q, std::size_t in_count) {
  const DType dtype = q.out[0].dtype;
  bool served = is_stored(dtype);
  for (std::size_t k = 0; k < in_count; ++k) served = served && q.in[k].dtype == dtype;
  return refuse_unless(served, "serves f32 and bf16 only, the same in and out");
}

// Calls body with a value of the element type, which carries nothing but the type.
template <typename Body>
THIMBLE_INLINE void with_element(DType dtype, Body&& body) {
  if (dtype == DType::f32) {
    body(float{});
  } else {
    body(BFloat16{});
  }
}

// Splits a workspace into arrays that start on cache lines of their own. Without memory it only measures.
class Carver {
 public:
  explicit Carver(std::byte* base = nullptr) : base_(base) {}

  template <typename T>
  T* take(std::int64_t count) {
    T* place = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += round_up(count * static_cast<std::int64_t>(sizeof(T)), 64);
    return place;
  }
  Bytes used() const { return used_; }

 private:
  std::byte* base_;
  Bytes used_ = 0;
};

struct NoState : KernelState {};
static inline std::unique_ptr<KernelState> no_state(const KernelQuery&) { return std::make_unique<NoState>(); }

}  // namespace thimble::kernels::THIMBLE_ISA
