// What scale_channels and its gradient share: an image x (B, H, W, C) beside one number a sample and channel, s (B, C).
// s has the type of x, or f32 beside bf16: it may come from a small f32 network.
#pragma once

#include "ops/check.h"

namespace thimble::ops {

inline Shape channel_shape(const Type& x) { return {x.shape[0], x.shape[3]}; }

// The index in s of the element i of x.
inline std::int64_t channel_index(const Shape& x, std::int64_t i) { return i / (x[1] * x[2] * x[3]) * x[3] + i % x[3]; }

inline void require_scale_dtype(std::string_view op, std::string_view what, DType dtype, const Type& x) {
  require(dtype == x.dtype || (dtype == DType::f32 && x.dtype == DType::bf16), op, ": ", what, " is ", name_of(dtype),
          " beside x of ", x, ", wanted ", name_of(x.dtype), x.dtype == DType::bf16 ? " or f32" : "");
}

}  // namespace thimble::ops
