#include "memory/place/in_order.h"
#include "memory/place/strategies.h"

namespace thimble {

// What an allocator at run time does, but for the order among those born at one step: there the largest goes first.
Placement place_best_fit(std::span<const Request> requests) {
  const std::vector<int> order = order_by(requests, [](const Request& a, const Request& b) {
    if (a.first_step != b.first_step) return a.first_step < b.first_step;
    return a.bytes > b.bytes;
  });
  return place_in_order(requests, order, Fit::tightest, "best fit");
}

}  // namespace thimble
