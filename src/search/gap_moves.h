// Changes to single gaps, the time between two uses of a value: what searches over gaps are made of.
#pragma once

#include "search/archive.h"
#include "search/gap_reach.h"

namespace thimble {

// Judges states and records them in an archive, until its work is done: all that is judged is counted, so that a search
// ends by work and never by the clock.
class GapMoves {
 public:
  // `large` are the values that are worth a decision. `scheduler` and `archive` must outlive it.
  GapMoves(const Scheduler& scheduler, const std::vector<ValueId>& large, const BufferOptions& buffers,
           Archive& archive, std::int64_t most_work);

  bool has_work() const { return work() < most_work_; }
  std::int64_t work() const { return judge_.work() + noted_; }
  std::int64_t most_work() const { return most_work_; }

  const Scheduler& scheduler() const { return scheduler_; }
  std::int32_t place_of(NodeId node) const { return place_[static_cast<std::size_t>(node.index)]; }  // in the order

  State judge(Holding holding);
  const Evaluation& judge_only(const Holding& holding);  // valid until the next

  // The gaps of a state's large values: all, until another state is asked for, or those that are held or not.
  const std::vector<Gap>& gaps(const State& state) const;
  std::vector<Gap> gaps(const State& state, bool is_held) const;

  static Holding dropped(const State& state, const Gap& gap);
  // Held over this gap alone, or from there on: the mode then speaks for all later gaps, also for those that appear.
  Holding held(const State& state, const Gap& gap, bool from_there_on) const;

  // Down to a target by dropping what is held over single gaps; false if that does not lead there.
  bool descend(State& state, Bytes target);

  // One turn over all dropped gaps, those that save most time first; whether any could be held within the target.
  // Gaps in `refused` are not tried; those that could not join them.
  bool hold_more(State& state, Bytes target, std::vector<Gap>& refused);
  // As many turns as help.
  void hold_all(State& state, Bytes target);

 private:
  bool is_large(ValueId value) const { return is_large_[static_cast<std::size_t>(value.index)]; }
  // Held gaps that lie where the target is exceeded, or dropped ones that may be held within it.
  std::vector<Gap> promising_gaps(const State& state, bool is_held, Bytes target) const;
  // Whether holding a gap's value from there on is more than holding it over the gap.
  bool has_later(const State& state, const Gap& gap) const;

  const Scheduler& scheduler_;
  Judge judge_;
  Archive& archive_;
  std::int64_t most_work_;
  std::vector<bool> is_large_;       // by value
  std::vector<std::int32_t> place_;  // in the order, by node
  // Of the state that was asked for last: it takes a schedule to know its gaps.
  mutable Holding noted_holding_;
  mutable MetGaps noted_met_;
  mutable std::vector<Gap> noted_gaps_;  // of large values
  mutable std::int64_t noted_ = 0;       // gaps of all schedules made for that
};

// Whether a state within the target, or the first one within it, is faster.
bool is_better(const State& trial, const State& state, Bytes target);

}  // namespace thimble
