// The middle of some numbers: what a disturbed measurement moves least.
#pragma once

#include <vector>

namespace thimble {

double median(std::vector<double> values);  // of an even number the mean of the middle two; 0 of none

}  // namespace thimble
