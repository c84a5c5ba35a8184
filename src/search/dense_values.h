// Keeps what takes long to make for its size, and makes the rest again: where many values wait side by side, as in
// networks whose layers read all layers before them, no segment tells them apart, but this does.
#pragma once

#include <vector>

#include "search/strategies.h"

namespace thimble {

// "dense s p%": of the large values, those that take least time for a byte are made again once, p percent of all bytes;
// every s-th value that alone separates the forward pass stays (none for 0), so that nothing has to be made again from
// the start. "dense s cheap p%": of the rest, what is cheap is made anew for every use.
std::vector<Strategy> dense_strategies(const Scheduler& scheduler, const std::vector<ValueId>& large);

}  // namespace thimble
