#include "memory/place/in_order.h"
#include "memory/place/strategies.h"

namespace thimble {

// Between the two: a request is in the way in proportion to its bytes and to its time. The product is taken in double
// since it may not fit an integer.
Placement place_by_area(std::span<const Request> requests) {
  const std::vector<int> order = order_by(requests, [](const Request& a, const Request& b) {
    const double area_a = static_cast<double>(a.bytes) * static_cast<double>(length_of(a));
    const double area_b = static_cast<double>(b.bytes) * static_cast<double>(length_of(b));
    if (area_a != area_b) return area_a > area_b;
    return a.bytes > b.bytes;
  });
  return place_in_order(requests, order, Fit::tightest, "by area");
}

}  // namespace thimble
