#include "base/shape.h"

#include "base/error.h"

namespace thimble {
namespace {

std::string list_text(std::span<const std::int64_t> dims) {
  std::string text = "[";
  for (const std::int64_t dim : dims) text += (text.size() > 1 ? "," : "") + std::to_string(dim);
  return text + ']';
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> dims) {
  require(dims.size() <= kMaxRank, "shape: found ", dims.size(), " dimensions, at most ", kMaxRank, " are supported");
  rank_ = static_cast<int>(dims.size());
  bool is_empty = false;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const std::int64_t dim = dims[axis];
    require(dim >= 0, "shape: dimension ", axis, " is ", dim, ", wanted zero or more");
    dims_[axis] = dim;
    is_empty = is_empty || dim == 0;
    if (dim == 0) continue;
    if (count_ > kMaxCount / dim)
      fail_user(join_text("shape: ", list_text(dims), " has too many elements, wanted at most ", kMaxCount));
    count_ *= dim;
  }
  if (is_empty) count_ = 0;
}

std::string to_text(const Shape& shape) { return list_text(shape.dims()); }

}  // namespace thimble
