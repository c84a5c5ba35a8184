#include "memory/place/check.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace thimble {

namespace {

// Offset and size rather than a range: the sum of an absurd offset and a size may not exist.
std::string describe(std::span<const Request> requests, const Placement& placement, std::size_t index) {
  const Request& request = requests[index];
  return join_text("request ", index, " (steps ", request.first_step, " to ", request.last_step, ", ", request.bytes,
                   " bytes at ", placement.offsets[index], ")");
}

std::optional<std::string> find_stray(std::span<const Request> requests, const Placement& placement) {
  for (std::size_t index = 0; index < requests.size(); ++index) {
    const Bytes offset = placement.offsets[index], bytes = requests[index].bytes;
    if (offset % kAlignment != 0) {
      return describe(requests, placement, index) + join_text(" is not aligned to ", kAlignment, " bytes");
    }
    if (offset < 0 || placement.bytes < bytes || offset > placement.bytes - bytes) {
      return describe(requests, placement, index) + join_text(" lies outside the ", placement.bytes, " bytes");
    }
  }
  return std::nullopt;
}

std::vector<std::size_t> sorted_indices(std::span<const Request> requests, int Request::*step) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return requests[a].*step < requests[b].*step; });
  return order;
}

// Walks through time with the live requests in a map by offset: as long as they are disjoint, only neighbours can
// collide.
std::optional<std::string> find_collision(std::span<const Request> requests, const Placement& placement) {
  const std::vector<std::size_t> births = sorted_indices(requests, &Request::first_step);
  const std::vector<std::size_t> deaths = sorted_indices(requests, &Request::last_step);
  std::map<Bytes, std::size_t> live;  // offset -> request
  std::size_t dead_count = 0;
  for (const std::size_t index : births) {
    const Request& request = requests[index];
    for (; requests[deaths[dead_count]].last_step < request.first_step; ++dead_count) {
      if (requests[deaths[dead_count]].bytes > 0) live.erase(placement.offsets[deaths[dead_count]]);
    }
    if (request.bytes == 0) continue;
    const Bytes offset = placement.offsets[index];
    const auto next = live.lower_bound(offset);
    std::optional<std::size_t> other;
    if (next != live.end() && next->first < offset + request.bytes) other = next->second;
    if (next != live.begin() && std::prev(next)->first + requests[std::prev(next)->second].bytes > offset) {
      other = std::prev(next)->second;
    }
    if (other)
      return describe(requests, placement, *other) + " and " + describe(requests, placement, index) + " overlap";
    live.emplace_hint(next, offset, index);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_fault(std::span<const Request> requests, const Placement& placement) {
  ensure_sound(requests);
  if (placement.offsets.size() != requests.size()) {
    return join_text("placement has ", placement.offsets.size(), " offsets for ", requests.size(), " requests");
  }
  if (auto fault = find_stray(requests, placement)) return fault;
  return find_collision(requests, placement);
}

}  // namespace thimble
