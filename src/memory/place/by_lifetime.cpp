#include "memory/place/in_order.h"
#include "memory/place/strategies.h"

namespace thimble {

// Kept activations of a training step have nested lifetimes: laid down longest first they form a stack without holes,
// and what lives for a step or two goes on top of the part of the stack that is alive then.
Placement place_by_lifetime(std::span<const Request> requests) {
  const std::vector<int> order = order_by(requests, [](const Request& a, const Request& b) {
    if (length_of(a) != length_of(b)) return length_of(a) > length_of(b);
    return a.bytes > b.bytes;
  });
  return place_in_order(requests, order, Fit::lowest, "by lifetime");
}

}  // namespace thimble
