#include "data/dataset.h"

#include "base/error.h"

namespace thimble {

void Dataset::check_read(Split split, std::int64_t index, std::span<const std::uint8_t> pixels) const {
  ensure(index >= 0 && index < count(split), info_.name, ": asked for ", name_of(split), " sample ", index, " of ",
         count(split));
  ensure(static_cast<std::int64_t>(pixels.size()) == info_.sample_shape.count(), info_.name, ": given room for ",
         pixels.size(), " pixel bytes, wanted ", info_.sample_shape.count());
}

}  // namespace thimble
