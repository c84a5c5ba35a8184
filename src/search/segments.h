// Checkpoints at the ends of segments of the forward pass: what is between two of them is recomputed when backward
// comes there.
#pragma once

#include <vector>

#include "search/strategies.h"

namespace thimble {

// "block k": keeps every k-th value that alone separates the forward pass; "block k cheap": of the rest, what is cheap
// is made anew for every use.
std::vector<Strategy> block_strategies(const Scheduler& scheduler, const std::vector<ValueId>& large);

// "chen k": k segments of about equal bytes. Walks the forward order, adds up bytes and cuts at the first separator
// after each k-th part of the whole (Chen et al. 2016, algorithm 3). Holds 1/k of the bytes and k values, for one more
// forward pass; the best k for equal layers is the root of their number.
std::vector<Strategy> chen_strategies(const Scheduler& scheduler, const std::vector<ValueId>& large);

// "chen recursive k": segments in segments. Backward through a segment recomputes up to its middle, holds that, goes
// through the second half in the same way and then through the first; segments of at most k blocks are held whole. With
// k = 1 this is log2 n values for at most n log2 n layers run again (Chen et al. 2016, section 4.3).
std::vector<Strategy> recursive_strategies(const Scheduler& scheduler, const std::vector<ValueId>& large);

}  // namespace thimble
