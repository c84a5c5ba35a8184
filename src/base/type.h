// The type of a value: element type, shape and how it is stored.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/dtype.h"
#include "base/shape.h"

namespace thimble {

// dense: elements in row-major order. pooled: the value is one slot of a pool shared by several values; shape is that
// of the whole pool, and which part belongs to which slot is run-time data (sparse parameters move non-zeros between
// layers).
enum class Layout : std::uint8_t { dense, pooled };

struct Type {
  DType dtype = DType::f32;
  Shape shape;
  Layout layout = Layout::dense;

  Bytes bytes() const { return shape.count() * bytes_of(dtype); }
  friend bool operator==(const Type&, const Type&) = default;
};

inline std::string to_text(const Type& type) {
  return std::string(name_of(type.dtype)) + to_text(type.shape) + (type.layout == Layout::pooled ? "pooled" : "");
}

}  // namespace thimble
