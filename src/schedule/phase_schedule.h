// The flat list of steps of one phase, with recomputation explicit. No addresses yet.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace thimble {

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

}  // namespace thimble
