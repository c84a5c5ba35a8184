// What a kernel or a reference is handed when it runs: views of memory, scratch and the numbers that change from
// iteration to iteration. Nothing here owns memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bfloat16.h"
#include "base/dtype.h"
#include "base/shape.h"

namespace thimble {

enum class Status : std::uint8_t { good, failed };

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  Shape shape;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

// Numbers that belong to one iteration or one microbatch and are therefore not attributes of a node.
struct RunScalars {
  std::uint64_t seed = 0;
  std::int64_t iteration = 0;  // optimizer updates done so far; 0 in the first iteration
  std::int64_t sample_offset =
      0;                    // index, in the batch, of the microbatch's first sample: random keys use batch positions
  float inverse_batch = 1;  // 1 / samples in this batch: losses and gradients are means over the batch
  float learning_rate = 0;

  // Differs for all microbatches of all iterations: what is rounded again and again must not err the same way each
  // time.
  std::uint64_t turn() const {
    return static_cast<std::uint64_t>(iteration) + (static_cast<std::uint64_t>(sample_offset) << 40);
  }
};

struct Call {
  std::span<const TensorView> in;
  std::span<const TensorView> out;
  std::byte* workspace = nullptr;  // as many bytes as the kernel asked for, 64-byte aligned, contents arbitrary
  const RunScalars* scalars = nullptr;
  int threads = 1;
};

// Element access for references and tests: any floating dtype, through double. Integers too.
inline double load(const TensorView& view, std::int64_t index) noexcept {
  switch (view.dtype) {
    case DType::f32: return static_cast<double>(view.as<const float>()[index]);
    case DType::bf16: return static_cast<double>(to_float(view.as<const BFloat16>()[index]));
    case DType::f64: return view.as<const double>()[index];
    case DType::i32: return static_cast<double>(view.as<const std::int32_t>()[index]);
    case DType::u8: return static_cast<double>(view.as<const std::uint8_t>()[index]);
  }
  return 0;
}

inline void store(const TensorView& view, std::int64_t index, double value) noexcept {
  switch (view.dtype) {
    case DType::f32: view.as<float>()[index] = static_cast<float>(value); break;
    case DType::bf16: view.as<BFloat16>()[index] = to_bfloat16(static_cast<float>(value)); break;
    case DType::f64: view.as<double>()[index] = value; break;
    case DType::i32: view.as<std::int32_t>()[index] = static_cast<std::int32_t>(value); break;
    case DType::u8: view.as<std::uint8_t>()[index] = static_cast<std::uint8_t>(value); break;
  }
}

}  // namespace thimble
