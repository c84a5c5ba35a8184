// The fine end of the search: decides single gaps, the time between two uses of a value, where the search before it
// decided on whole values.
#pragma once

#include "search/archive.h"

namespace thimble {

// Improves the archive, step by step of the front, and goes down from `seeds`, whose order of recomputation is worth
// more than their place in the front tells. Ends by counted work, so that a small graph is searched
// through and a large one gets what it is worth.
void search_gaps(const Scheduler& scheduler, const std::vector<ValueId>& large, const std::vector<Strategy>& seeds,
                 const BufferOptions& buffers, Archive& archive);

}  // namespace thimble
