#include "compile/ladder.h"

#include <algorithm>

namespace thimble {

Bytes Ladder::largest_arena() const {
  Bytes most = 0;
  for (const Rung& rung : rungs) most = std::max(most, rung.plans.arena_bytes);
  return most;
}

Bytes Ladder::largest_spill() const {
  Bytes most = 0;
  for (const Rung& rung : rungs) most = std::max(most, rung.plans.spill_bytes);
  return most;
}

std::optional<std::size_t> Ladder::find(std::optional<Bytes> budget, std::optional<std::size_t> layout) const {
  for (std::size_t r = 0; r < rungs.size(); ++r) {
    const bool fits = !budget || rungs[r].point.process_bytes <= *budget;
    if (fits && (!layout || rungs[r].layout == *layout)) return r;
  }
  return std::nullopt;
}

}  // namespace thimble
