// What placement is asked and what it answers. Knows sizes and lifetimes only: no values, no steps' contents, no arena.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace thimble {

constexpr Bytes kAlignment = 64;  // a cache line, and the widest vector register

// Bytes that are wanted from first_step to last_step, both included. Zero bytes are allowed and take no room.
struct Request {
  Bytes bytes = 0;
  int first_step = 0;
  int last_step = 0;
};

struct Placement {
  std::vector<Bytes> offsets;  // one a request, in the order of the requests; multiples of kAlignment
  Bytes bytes = 0;             // every aligned request ends at or below this
  std::string_view strategy;   // name of the strategy that found it; static text
};

constexpr Bytes aligned_bytes(const Request& request) { return round_up(request.bytes, kAlignment); }

// InternalError unless every request has non-negative bytes and a lifetime that does not end before it begins, and all
// sums fit.
void ensure_sound(std::span<const Request> requests);

}  // namespace thimble
