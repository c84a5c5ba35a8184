// Selected -> PhaseSchedule, for any choice of what to hold in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/emit.h"
#include "schedule/flat_graph.h"
#include "schedule/holding.h"
#include "schedule/phase_schedule.h"
#include "select/select.h"

namespace thimble {

// The gaps of a schedule, and by step of it: the base step it belongs to, the order's size behind the last.
struct MetGaps {
  std::vector<MetGap> gaps;
  std::vector<std::int32_t> base_steps;
};

// Makes schedules of one phase for any choice of what to keep. The order of the original steps is fixed once, for a
// small peak; a choice only adds recomputed steps between them and moves updates behind the last reader of what they
// overwrite.
class Scheduler {
 public:
  explicit Scheduler(const Selected& selected);

  const Selected& selected() const { return *selected_; }
  const FlatGraph& flat() const { return flat_; }
  const std::vector<NodeId>& order() const { return order_; }
  std::int32_t forward_count() const { return forward_count_; }  // steps of the order up to and including the loss

  // The choice that recomputes nothing but values that are never kept.
  std::vector<Keep> keep_all() const;
  // Forward activations that backward reads or that such values are recomputed from: what a search may decide on.
  const std::vector<ValueId>& candidates() const { return candidates_; }
  // Gradients that updates read behind the norm of all: each may be kept, or made again by as much of a second backward
  // pass as it takes. Empty without such a norm, and where accumulators hold them.
  const std::vector<ValueId>& waiting_gradients() const { return waiting_gradients_; }

  // Without transfers: of a spilled value it only says which instance is to be loaded from which.
  PhaseSchedule make(std::span<const Keep> keep) const;
  PhaseSchedule make(const Holding& holding) const;

  // Makes one schedule after another in the same memory.
  Emitter emitter() const { return {flat_, order_, {forward_count_, first_pass_count_}}; }

  // Every gap between two uses of a candidate in the schedule that `holding` makes, and whether the value is held over
  // it.
  std::vector<Gap> gaps(const Holding& holding) const;
  MetGaps met_gaps(const Holding& holding) const;

 private:
  void find_waiting_gradients();
  bool is_cloneable(NodeId id) const;

  const Selected* selected_;
  FlatGraph flat_;
  std::vector<NodeId> order_;
  std::int32_t forward_count_ = 0;     // steps of `order_` up to and including the loss
  std::int32_t first_pass_count_ = 0;  // steps of `order_` before those of the second pass
  std::vector<ValueId> candidates_;
  std::vector<bool> is_candidate_;  // by value
  std::vector<ValueId> waiting_gradients_;
};

}  // namespace thimble
