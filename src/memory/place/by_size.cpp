#include "memory/place/in_order.h"
#include "memory/place/strategies.h"

namespace thimble {

// Large ones are the hardest to place late; small ones fill the gaps they leave.
Placement place_by_size(std::span<const Request> requests) {
  const std::vector<int> order = order_by(requests, [](const Request& a, const Request& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return length_of(a) > length_of(b);
  });
  return place_in_order(requests, order, Fit::tightest, "by size");
}

}  // namespace thimble
