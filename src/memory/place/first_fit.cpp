#include "memory/place/in_order.h"
#include "memory/place/strategies.h"

namespace thimble {

// Of those born at one step the longest-lived goes first, so that it comes to lie low.
Placement place_first_fit(std::span<const Request> requests) {
  const std::vector<int> order = order_by(requests, [](const Request& a, const Request& b) {
    if (a.first_step != b.first_step) return a.first_step < b.first_step;
    return a.last_step > b.last_step;
  });
  return place_in_order(requests, order, Fit::lowest, "first fit");
}

}  // namespace thimble
