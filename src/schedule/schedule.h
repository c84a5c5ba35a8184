// Selected -> Schedule: the flat list of steps of one phase, with recomputation and transfers explicit. No addresses
// yet.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/space.h"
#include "select/select.h"

namespace thimble {

// What becomes of a value that a later part of the phase reads. The parts are forward, backward and, where updates wait
// for the norm of all gradients, what comes behind that norm: there gradients are such values too.
enum class Keep : std::uint8_t {
  keep,    // stays in memory until its last use
  retain,  // dropped at the end of each part, recomputed when the next one first needs it, then stays to that one's end
  transient,  // dropped after the part that made it, recomputed for every single use
  spill,  // stored in the spill file by the part that made it, loaded when a later one first needs it, then stays to
          // its end
};

// One appearance of a value in the arena. A recomputed or spilled value has several instances.
struct Instance {
  ValueId value;
  std::int32_t first_step = 0;    // the step that writes it; 0 for what is there before the phase starts
  std::int32_t last_step = 0;     // the last step that touches it
  std::int32_t loaded_from = -1;  // of a spilled value: the instance that was stored
  bool is_copy = false;           // of a persistent value whose home is the spill file
};

// What a step does: run a node, or begin or end a transfer between arena and spill file.
enum class StepKind : std::uint8_t { run, start, wait };

struct Step {
  NodeId node;  // invalid for a transfer
  bool is_recompute = false;
  std::int32_t first_operand = 0;  // into PhaseSchedule::operands: inputs, then outputs
  std::int16_t input_count = 0;
  std::int16_t output_count = 0;
  StepKind kind = StepKind::run;
  std::int32_t transfer = -1;  // into PhaseSchedule::transfers
};

// A stretch of the spill file: a persistent value's home, or room for another between its store and its last load.
struct SpillSlot {
  ValueId value;
  bool is_home = false;
  std::int32_t first_step = 0;  // of no home: from the start of its store ...
  std::int32_t last_step = 0;   // ... to the end of its last load
};

// Bytes on their way. Both ends are the transfer's own from its start step to its wait step, but for readers of what is
// being stored.
struct Transfer {
  Direction direction = Direction::load;
  std::int32_t instance = -1;  // the arena's end
  std::int32_t slot = -1;      // the spill file's
};

struct PhaseSchedule {
  std::vector<Step> steps;
  std::vector<Instance> instances;
  std::vector<std::int32_t> operands;  // instance indices
  std::vector<Transfer> transfers;     // in the order of their start steps
  std::vector<SpillSlot> slots;
  double seconds = 0;  // predicted, waits for transfers included
  double flops = 0;
  double recompute_flops = 0;

  std::span<const std::int32_t> inputs(const Step& step) const {
    return {operands.data() + step.first_operand, static_cast<std::size_t>(step.input_count)};
  }
  std::span<const std::int32_t> outputs(const Step& step) const {
    return {operands.data() + step.first_operand + step.input_count, static_cast<std::size_t>(step.output_count)};
  }
};

// First and last steps of all instances, from the steps as they stand.
void set_lifetimes(PhaseSchedule& schedule);

// Makes schedules of one phase for any choice of what to keep. The order of the original steps is fixed once, for a
// small peak; a choice only adds recomputed steps between them and moves updates behind the last reader of what they
// overwrite.
class Scheduler {
 public:
  explicit Scheduler(const Selected& selected);

  const Selected& selected() const { return *selected_; }
  const std::vector<NodeId>& order() const { return order_; }

  // The choice that recomputes nothing but values that are never kept.
  std::vector<Keep> keep_all() const;
  // Forward activations that backward reads or that such values are recomputed from: what a search may decide on.
  const std::vector<ValueId>& candidates() const { return candidates_; }
  // Gradients that updates read behind the norm of all: each may be kept, or made again by as much of a second backward
  // pass as it takes. Empty without such a norm, and where accumulators hold them.
  const std::vector<ValueId>& waiting_gradients() const { return waiting_gradients_; }

  // Without transfers: of a spilled value it only says which instance is to be loaded from which.
  PhaseSchedule make(std::span<const Keep> keep) const;

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
