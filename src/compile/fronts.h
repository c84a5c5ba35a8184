// Fronts by name: found once for one microbatch, carried over to others.
#pragma once

#include "compile/stages.h"

namespace thimble {

struct NamedPoint {
  NamedHolding holding;
  Bytes live_bytes = 0;  // of the busiest phase's transients
  double seconds = 0;    // of the busiest phase
  std::string strategy;
};

// From fastest to smallest.
std::vector<NamedPoint> full_front(const Stages& stages, Recompute recompute);
// The same choices judged for another microbatch, beaten ones left out.
std::vector<NamedPoint> transferred_front(const Stages& stages, const std::vector<NamedPoint>& known);

// Sizes to try, the batch itself first; the one that the request names, if it does.
std::vector<std::int64_t> microbatch_candidates(const CompileRequest& request, bool may_split);

void check_request(const CompileRequest& request);
// Whether microbatches are allowed; UserError if one is asked for that would change the result without leave.
bool check_splitting(const CompileRequest& request, OpTable ops);

}  // namespace thimble
