// What the simple strategies share: requests are placed one after the other, each where it fits among those before it.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "memory/place/packing.h"
#include "memory/place/request.h"

namespace thimble {

// `order` names every request once.
Placement place_in_order(std::span<const Request> requests, std::span<const int> order, Fit fit,
                         std::string_view strategy);

// Steps of a lifetime, as a factor of an area.
constexpr std::int64_t length_of(const Request& request) {
  return std::int64_t{request.last_step} - request.first_step + 1;
}

// All requests, those first for which comes_before(a, b) holds; in their own order where it does not say.
template <typename Before>
std::vector<int> order_by(std::span<const Request> requests, Before comes_before) {
  std::vector<int> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return comes_before(requests[static_cast<std::size_t>(a)], requests[static_cast<std::size_t>(b)]);
  });
  return order;
}

}  // namespace thimble
