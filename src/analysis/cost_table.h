// Measured times of kernels, for the search instead of predicted ones. They choose between schedules, which all give
// the same bits, and never the microbatch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/cost.h"

namespace thimble {

struct MeasuredCost {
  std::string_view use;  // as in select/use.h
  double seconds = 0;
  double flops = 0;
  double bytes = 0;
};

class CostTable {
 public:
  explicit CostTable(std::span<const MeasuredCost> costs, const CostModel& model = {});

  std::optional<double> seconds_of(std::string_view use) const;  // none: it was not measured

  // Measured over predicted time, the median of all: by this much predictions are scaled for what was not measured, so
  // that the two can be compared. 1 of an empty table.
  double ratio() const { return ratio_; }
  std::size_t size() const { return entries_.size(); }

 private:
  // By hash: a table stays while a run trains inside its budget. Two uses that share one would share a time.
  struct Entry {
    std::uint64_t use = 0;
    double seconds = 0;
  };
  std::vector<Entry> entries_;  // by hash
  double ratio_ = 1;
};

}  // namespace thimble
