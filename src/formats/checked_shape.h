// A shape from a file that nobody vouches for.
#pragma once

#include <span>
#include <string_view>

#include "base/shape.h"

namespace thimble {

// Same rules as Shape's own; the message starts with `where`, so that it names the file and the tensor.
Shape checked_shape(std::string_view where, std::span<const std::int64_t> dims);

}  // namespace thimble
