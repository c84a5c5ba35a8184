// The figures of one point of the front.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"

namespace thimble {

struct PointSummary {
  std::int64_t microbatch = 0;
  Bytes arena_bytes = 0;
  Bytes lower_bound_bytes = 0;
  Bytes process_bytes = 0;  // arena and reserve: the budget that this point needs
  double seconds = 0;       // predicted, for one iteration
  double recompute_flops_ratio = 0;
  Bytes spill_bytes = 0;  // of the spill file; 0: everything stays in memory
  Bytes moved_bytes = 0;  // between arena and spill file, in one iteration
  std::string strategy;
  std::vector<std::string> levers = {};  // those in use that change the result: "microbatch-norm", "bf16"...
};

}  // namespace thimble
