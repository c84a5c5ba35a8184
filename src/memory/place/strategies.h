// The strategies, cheapest first. Each is a pure function: the same requests give the same placement on every machine.
#pragma once

#include <span>

#include "memory/place/request.h"

namespace thimble {

Placement place_by_lifetime(std::span<const Request> requests);  // longest first: long-lived low, short-lived on top
Placement place_by_size(std::span<const Request> requests);      // largest first, each in the tightest gap
Placement place_by_area(std::span<const Request> requests);    // largest bytes x steps first, each in the tightest gap
Placement place_first_fit(std::span<const Request> requests);  // as a run would ask for them, each in the lowest gap
Placement place_best_fit(std::span<const Request> requests);   // as a run would ask for them, each in the tightest gap

// Improves `start`, a placement of the same requests, by a search of bounded work that is done as soon as `goal` bytes
// or fewer are met; a goal below the lower bound means the lower bound. Never worse than `start`.
Placement place_by_ejection(std::span<const Request> requests, const Placement& start, Bytes goal);

}  // namespace thimble
