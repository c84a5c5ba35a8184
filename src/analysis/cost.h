// Predicted time of a node from its arithmetic and the bytes it moves. Used to compare plans; never measured, so that a
// plan is the same on every run.
#pragma once

#include "ir/graph.h"

namespace thimble {

struct CostModel {
  double flops_per_second = 200e9;  // dense arithmetic of two AVX-512 cores
  double bytes_per_second = 20e9;   // memory traffic
  double seconds_per_step = 4e-6;   // starting a kernel and its threads
};

struct NodeCost {
  double flops = 0;
  double bytes = 0;
  double seconds = 0;
};

NodeCost cost_of(const Graph& graph, NodeId id, const CostModel& model);

}  // namespace thimble
