#include "base/shape.h"

#include "base/error.h"

namespace thimble {

Shape::Shape(std::span<const std::int64_t> dims) {
  require(dims.size() <= kMaxRank, "shape: found ", dims.size(), " dimensions, at most ", kMaxRank, " are supported");
  // 2^56 elements: far beyond any machine, and low enough that a product with an element size cannot overflow.
  constexpr std::int64_t kMaxCount = std::int64_t{1} << 56;
  rank_ = static_cast<int>(dims.size());
  bool is_empty = false;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const std::int64_t dim = dims[axis];
    require(dim >= 0, "shape: dimension ", axis, " is ", dim, ", wanted zero or more");
    dims_[axis] = dim;
    if (dim == 0) is_empty = true;
    require(dim == 0 || count_ <= kMaxCount / dim, "shape: the product of the dimensions is too large");
    if (dim != 0) count_ *= dim;
  }
  if (is_empty) count_ = 0;
}

std::string to_text(const Shape& shape) {
  std::string text = "[";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axis > 0) text += ',';
    text += std::to_string(shape.at(axis));
  }
  return text + ']';
}

}  // namespace thimble
