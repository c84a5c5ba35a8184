// How many positions each sparse tensor grows when `total` were pruned from all of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"

namespace thimble {

struct GrowthPlace {
  std::int64_t survivors = 0;  // weights left after pruning
  std::int64_t room = 0;       // inactive positions that were not just pruned
};

// round(survivors / all survivors * total) for each; what rounding lacks or gives too much falls to a tensor drawn at
// random; what a full tensor cannot take is shared out again among the others. The sum is `total`: the room must
// suffice.
std::vector<std::int64_t> growth_of(std::span<const GrowthPlace> places, std::int64_t total, RandomKey key);

}  // namespace thimble
