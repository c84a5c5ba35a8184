// Predicted time of a node from its arithmetic and the bytes it moves. Used to compare plans; never measured, so that a
// plan is the same on every run.
#pragma once

#include <string_view>

#include "ir/graph.h"

namespace thimble {

// Where the search has its times from: this model, or the table of what was measured (cost_table.h).
enum class CostSource : std::uint8_t { model, measured };
std::string_view name_of(CostSource source);  // empty beyond the last

struct CostModel {
  double flops_per_second = 200e9;  // dense arithmetic of two AVX-512 cores
  double bytes_per_second = 20e9;   // memory traffic
  double seconds_per_step = 4e-6;   // starting a kernel and its threads
};

struct NodeCost {
  double flops = 0;
  double bytes = 0;
  double read_bytes = 0;  // of these, the operands'
  double seconds = 0;
};

double predicted_seconds(double flops, double bytes, const CostModel& model);

// `pace` is that of the kernel that does it (kernels/kernel.h).
NodeCost cost_of(const Graph& graph, NodeId id, const CostModel& model, double pace = 1);

}  // namespace thimble
