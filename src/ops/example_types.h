// Short words for the types in an op's examples.
#pragma once

#include "base/type.h"

namespace thimble::ops {

inline Type f32(const Shape& shape) { return {DType::f32, shape}; }
inline Type u8(const Shape& shape) { return {DType::u8, shape}; }

}  // namespace thimble::ops
