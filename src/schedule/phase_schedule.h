// The flat list of steps of one phase, with recomputation and transfers explicit. No addresses yet.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/space.h"
#include "ir/graph.h"

namespace thimble {

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

}  // namespace thimble
