// Segments in segments with the best places to split, found by dynamic programming for blocks of unequal time and
// bytes.
#pragma once

#include "search/strategies.h"

namespace thimble {

// "segments k": for the k-th of a series of limits on what may be held. The best of its kind: each segment is split
// where the layers run again, in all, take least time (Griewank & Walther 2000 for equal layers; Beaumont et al. 2019).
// "lean segments": what serves its own block alone is not held between the steps that read it, with the splits that are
// best for holding it and with those that are best for this.
std::vector<Strategy> best_segments(const Scheduler& scheduler, const std::vector<ValueId>& large);

}  // namespace thimble
