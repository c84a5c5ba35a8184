// Selected -> Schedule: the flat list of steps of one phase, with recomputation explicit. No addresses yet.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "select/select.h"

namespace thimble {

// What becomes of a value that a later part of the phase reads. The parts are forward, backward and, where updates wait
// for the norm of all gradients, what comes behind that norm: there gradients are such values too.
enum class Keep : std::uint8_t {
  keep,    // stays in memory until its last use
  retain,  // dropped at the end of each part, recomputed when the next one first needs it, then stays to that one's end
  transient,  // dropped after the part that made it, recomputed for every single use
};

// An exception to a value's mode: whether it stays in memory after the original step of node `after`, which touched it
// (or for which something was recomputed from it), until it is wanted again.
struct Gap {
  ValueId value;
  NodeId after;
  bool is_held = false;

  friend auto operator<=>(const Gap&, const Gap&) = default;
};

// What is in memory when: a mode for every value and exceptions, sorted by value, then by `after`.
struct Holding {
  std::vector<Keep> keep;  // by value
  std::vector<Gap> gaps = {};

  Keep& mode(ValueId value) { return keep[static_cast<std::size_t>(value.index)]; }
  Keep mode(ValueId value) const { return keep[static_cast<std::size_t>(value.index)]; }
  const Gap* find(ValueId value, NodeId after) const;  // null: there is no exception
  void set(const Gap& gap);                            // adds an exception or changes it
  void clear(ValueId value);                           // removes a value's exceptions

  friend bool operator==(const Holding&, const Holding&) = default;
};

// One appearance of a value in memory. A recomputed value has several instances.
struct Instance {
  ValueId value;
  std::int32_t first_step = 0;  // the step that writes it; 0 for what is there before the phase starts
  std::int32_t last_step = 0;   // the last step that touches it
};

struct Step {
  NodeId node;
  bool is_recompute = false;
  std::int32_t first_operand = 0;  // into PhaseSchedule::operands: inputs, then outputs
  std::int16_t input_count = 0;
  std::int16_t output_count = 0;
};

struct PhaseSchedule {
  std::vector<Step> steps;
  std::vector<Instance> instances;
  std::vector<std::int32_t> operands;  // instance indices
  double seconds = 0;                  // predicted
  double flops = 0;
  double recompute_flops = 0;

  std::span<const std::int32_t> inputs(const Step& step) const {
    return {operands.data() + step.first_operand, static_cast<std::size_t>(step.input_count)};
  }
  std::span<const std::int32_t> outputs(const Step& step) const {
    return {operands.data() + step.first_operand + step.input_count, static_cast<std::size_t>(step.output_count)};
  }
};

// Makes schedules of one phase for any choice of what to keep. The order of the original steps is fixed once, for a
// small peak; a choice only adds recomputed steps between them and moves updates behind the last reader of what they
// overwrite.
class Scheduler {
 public:
  explicit Scheduler(const Selected& selected);

  const Selected& selected() const { return *selected_; }
  const std::vector<NodeId>& order() const { return order_; }
  std::int32_t forward_count() const { return forward_count_; }  // steps of the order up to and including the loss

  // The choice that recomputes nothing but values that are never kept.
  std::vector<Keep> keep_all() const;
  // Forward activations that backward reads or that such values are recomputed from: what a search may decide on.
  const std::vector<ValueId>& candidates() const { return candidates_; }
  // Gradients that updates read behind the norm of all: each may be kept, or made again by as much of a second backward
  // pass as it takes. Empty without such a norm, and where accumulators hold them.
  const std::vector<ValueId>& waiting_gradients() const { return waiting_gradients_; }

  PhaseSchedule make(std::span<const Keep> keep) const;
  PhaseSchedule make(const Holding& holding) const;

  // Every gap between two uses of a candidate in the schedule that `holding` makes, and whether the value is held over
  // it.
  std::vector<Gap> gaps(const Holding& holding) const;

 private:
  void find_waiting_gradients();

  const Selected* selected_;
  std::vector<NodeId> order_;
  std::int32_t forward_count_ = 0;     // steps of `order_` up to and including the loss
  std::int32_t first_pass_count_ = 0;  // steps of `order_` before those of the second pass
  std::vector<ValueId> candidates_;
  std::vector<ValueId> waiting_gradients_;
};

}  // namespace thimble
