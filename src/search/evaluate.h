// Judges a choice of what to keep: live bytes at every step and predicted time.
#pragma once

#include <vector>

#include "memory/buffers.h"
#include "schedule/schedule.h"

namespace thimble {

struct Evaluation {
  Bytes peak = 0;
  double seconds = 0;
  double recompute_flops_ratio = 0;
  std::vector<Bytes> live;  // by step

  // Byte-steps above a target: what a descent towards it still has to remove.
  double excess(Bytes target) const;
};

Evaluation evaluate(const Scheduler& scheduler, const Holding& holding, const BufferOptions& options);
Evaluation evaluate_all_kept(const Scheduler& scheduler, const BufferOptions& options);

}  // namespace thimble
