// Fronts of anything that takes bytes and time.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace thimble {

// Leaves those of which none is beaten or equalled by another in both; fastest first. `bytes` and `seconds` read an
// item: members or functions of it.
template <typename Item, typename BytesOf, typename SecondsOf>
void keep_unbeaten(std::vector<Item>& items, BytesOf bytes, SecondsOf seconds) {
  std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
    const double time_a = std::invoke(seconds, a), time_b = std::invoke(seconds, b);
    return time_a != time_b ? time_a < time_b : std::invoke(bytes, a) < std::invoke(bytes, b);
  });
  std::vector<Item> front;
  for (Item& item : items) {
    if (front.empty() || std::invoke(bytes, item) < std::invoke(bytes, front.back())) front.push_back(std::move(item));
  }
  items = std::move(front);
}

}  // namespace thimble
