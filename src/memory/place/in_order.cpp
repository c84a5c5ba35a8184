#include "memory/place/in_order.h"

namespace thimble {

Placement place_in_order(std::span<const Request> requests, std::span<const int> order, Fit fit,
                         std::string_view strategy) {
  Placement placement{.offsets = std::vector<Bytes>(requests.size(), 0), .bytes = 0, .strategy = strategy};
  Packing packing;
  for (const int index : order) {
    const Request& request = requests[static_cast<std::size_t>(index)];
    const Bytes bytes = aligned_bytes(request);
    if (bytes == 0) continue;  // stays at offset 0, which lies inside any arena
    const Bytes offset = packing.find(fit, bytes, request.first_step, request.last_step);
    packing.insert({.offset = offset, .end = offset + bytes, .first = request.first_step, .last = request.last_step});
    placement.offsets[static_cast<std::size_t>(index)] = offset;
    placement.bytes = std::max(placement.bytes, offset + bytes);
  }
  return placement;
}

}  // namespace thimble
