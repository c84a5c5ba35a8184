#include "formats/checked_shape.h"

#include "base/error.h"

namespace thimble {

Shape checked_shape(std::string_view where, std::span<const std::int64_t> dims) {
  require(dims.size() <= Shape::kMaxRank, where, ": found ", dims.size(), " dimensions, at most ", Shape::kMaxRank,
          " are supported");
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    require(dim >= 0, where, ": found dimension ", dim, ", wanted zero or more");
    require(dim == 0 || count <= Shape::kMaxCount / dim, where, ": the product of the dimensions exceeds ",
            Shape::kMaxCount);
    if (dim != 0) count *= dim;
  }
  return Shape(dims);
}

}  // namespace thimble
