#include "memory/place/lower_bound.h"

#include <algorithm>
#include <vector>

namespace thimble {

namespace {

struct Event {
  std::int64_t step = 0;
  Bytes change = 0;
};

}  // namespace

Bytes lower_bound(std::span<const Request> requests) {
  ensure_sound(requests);
  std::vector<Event> events;
  events.reserve(2 * requests.size());
  for (const Request& request : requests) {
    events.push_back({request.first_step, aligned_bytes(request)});
    events.push_back({std::int64_t{request.last_step} + 1, -aligned_bytes(request)});
  }
  // At equal steps the ends come first: what died a step ago does not meet what is born now.
  std::sort(events.begin(), events.end(),
            [](const Event& a, const Event& b) { return a.step != b.step ? a.step < b.step : a.change < b.change; });
  Bytes live = 0, most = 0;
  for (const Event& event : events) {
    live += event.change;
    most = std::max(most, live);
  }
  return most;
}

}  // namespace thimble
