// The small end of the front: schedules smaller than the way down by single drops leads to. They take time to find, so
// this is for budgets that nothing else meets, and for showing the whole front.
#pragma once

#include "search/front.h"

namespace thimble {

// Points smaller than `smallest`, from larger to smaller, none beaten by another of them.
std::vector<FrontPoint> search_deeper(const Scheduler& scheduler, const std::vector<ValueId>& large,
                                      const FrontPoint& smallest, const BufferOptions& buffers);

}  // namespace thimble
