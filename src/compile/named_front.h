// The front of one microbatch with its choices under the names of values, so that they mean the same for every phase
// and every microbatch.
#pragma once

#include <string>
#include <vector>

#include "compile/stages.h"

namespace thimble {

struct NamedPoint {
  NamedHolding holding;
  Bytes live_bytes = 0;  // of the busiest phase's transients
  double seconds = 0;    // of the busiest phase
  std::string strategy;
};

// Sorted from fastest to smallest.
std::vector<NamedPoint> full_front(const Stages& stages, Recompute recompute);

// The same choices judged for another microbatch; sorted from fastest to smallest, beaten ones left out.
std::vector<NamedPoint> transferred_front(const Stages& stages, const std::vector<NamedPoint>& known);

}  // namespace thimble
