// Which changes of single gaps are not worth judging.
#pragma once

#include <vector>

#include "search/evaluate.h"

namespace thimble {

class GapReach {
 public:
  // `live` is of the schedule that the gaps were met in. `scheduler` must outlive it.
  GapReach(const Scheduler& scheduler, const MetGaps& met, const std::vector<Bytes>& live, Bytes target);

  // Whether a held gap lies where the target is exceeded. Dropping another lowers nothing there; only what it makes
  // again, and leaves for later uses, helps elsewhere once in a hundred times.
  bool may_lower(const MetGap& met) const;
  // Whether a dropped gap may be held within the target: if all leaves that only waits to make it again.
  bool may_fit(const MetGap& met) const;

 private:
  Bytes bytes_of(const MetGap& met) const;
  Bytes most_live(std::int32_t begin, std::int32_t end) const;

  const Scheduler& scheduler_;
  Bytes target_;
  std::int32_t last_;           // base step, behind all of the order
  std::vector<Bytes> live_;     // by base step: the most while it, and what it makes again, runs
  std::vector<Bytes> waiting_;  // by base step: what was held until then only for what it makes again
};

}  // namespace thimble
