#include "memory/place/place.h"

#include <algorithm>
#include <utility>

#include "memory/place/lower_bound.h"
#include "memory/place/strategies.h"

namespace thimble {

namespace {

using Strategy = Placement (*)(std::span<const Request>);

// By lifetime first: it meets the lower bound on most training steps, and then nothing else need run.
constexpr Strategy kCheap[] = {place_by_lifetime, place_by_size, place_by_area, place_first_fit, place_best_fit};

constexpr Bytes kTolerance = 500;  // 1/500 = 0.2 %

}  // namespace

Placement place(std::span<const Request> requests) { return place(requests, 0); }

Placement place(std::span<const Request> requests, Bytes enough) {
  const Bytes bound = lower_bound(requests), goal = std::max(bound, enough);
  Placement best = kCheap[0](requests);
  for (const Strategy strategy : std::span(kCheap).subspan(1)) {
    if (best.bytes <= goal) return best;
    Placement other = strategy(requests);
    if (other.bytes < best.bytes) best = std::move(other);
  }
  // Where more than the lower bound is enough there is no tolerance on top: a byte above would enlarge the arena.
  if (best.bytes <= goal || (goal == bound && best.bytes - bound <= bound / kTolerance)) return best;
  return place_by_ejection(requests, best, goal);
}

}  // namespace thimble
