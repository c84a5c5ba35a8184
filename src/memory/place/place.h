// Placement: offsets for requests, as few bytes in all as we can find. Pure, deterministic, and ignorant of what the
// bytes hold.
#pragma once

#include <span>

#include "memory/place/request.h"

namespace thimble {

// The smallest of what all strategies find; the earlier in the list where two find the same. The costly strategy runs
// only if the others stay more than 0.2 % above the lower bound.
Placement place(std::span<const Request> requests);

// The same, but content with any placement of at most `enough` bytes: for a plan that shares its
// arena with a larger one.
Placement place(std::span<const Request> requests, Bytes enough);

}  // namespace thimble
