// The bytes below which no placement exists: what is alive at the busiest step.
#pragma once

#include <span>

#include "memory/place/request.h"

namespace thimble {

Bytes lower_bound(std::span<const Request> requests);  // largest sum, over all steps, of aligned live bytes

}  // namespace thimble
