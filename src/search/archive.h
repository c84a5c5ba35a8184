// Every schedule ever judged that no other beats or equals in both bytes and time.
#pragma once

#include <vector>

#include "search/evaluate.h"
#include "search/front.h"

namespace thimble {

struct State {
  Holding holding;
  Evaluation evaluation;
};

class Archive {
 public:
  void record(const Holding& holding, const Evaluation& evaluation, const std::string& strategy);
  void add(FrontPoint point);

  const FrontPoint& smallest() const { return points_.front(); }
  std::int64_t record_count() const { return record_count_; }  // points that ever entered
  // The fastest point within `bytes`; null if none is so small.
  const FrontPoint* fastest_within(Bytes bytes) const;

  std::vector<FrontPoint> fastest_first() const { return {points_.rbegin(), points_.rend()}; }

 private:
  bool is_beaten(Bytes bytes, double seconds) const;

  std::vector<FrontPoint> points_;  // by bytes, ascending; seconds descend
  std::int64_t record_count_ = 0;
};

}  // namespace thimble
