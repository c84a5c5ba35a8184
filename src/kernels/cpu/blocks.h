// Tensors of either dtype as short blocks of f32: kernels that mix dtypes freely work on blocks, so that one loop
// serves every mix.
#pragma once

#include "kernels/cpu/philox.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr std::int64_t kBlock = 256;  // elements; a handful of blocks stay in the first cache

// How bf16 outputs are rounded.
struct Rounding {
  bool is_stochastic = false;
  RandomKey key;
  std::uint64_t turn = 0;
};

// view[place .. place + count) as f32: the tensor's own memory if that is what it holds, else converted into `buffer`.
static inline const float* open_block(const TensorView& view, std::int64_t place, std::int64_t count, float* buffer) {
  if (view.dtype == DType::f32) return view.as<const float>() + place;
  const BFloat16* from = view.as<const BFloat16>() + place;
  each_vector(0, count, [=](std::int64_t i, auto lanes) { store(buffer + i, load(from + i, lanes), lanes); });
  return buffer;
}

// Where the f32 values of view[place ...) are to be written before close_block.
static inline float* target_block(const TensorView& view, std::int64_t place, float* buffer) {
  return view.dtype == DType::f32 ? view.as<float>() + place : buffer;
}

// Brings values written to target_block into the tensor. `elements` are their indices in the dense tensor, which with
// `output` choose the random bits.
static inline void close_block(const TensorView& view, std::int64_t place, std::int64_t count, const float* values,
                               const Rounding& rounding, const std::int64_t* elements, int output) {
  if (view.dtype == DType::f32) return;
  BFloat16* to = view.as<BFloat16>() + place;
  if (!rounding.is_stochastic) {
    each_vector(0, count, [=](std::int64_t i, auto lanes) { store(to + i, load(values + i, lanes), lanes); });
    return;
  }
  each_vector(0, count, [&](std::int64_t i, auto lanes) {
    const Words words = first_words(rounding.key, rounding.turn, [&](int lane) {
      const std::int64_t element = lane < lanes.count ? elements[i + lane] : 0;
      return static_cast<std::uint64_t>(element) * 4 + static_cast<std::uint64_t>(output);
    });
    store_stochastic(to + i, load(values + i, lanes), words, lanes);
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA
