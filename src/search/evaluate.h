// Judges a choice of what to keep and what to spill: live bytes at every step and predicted time.
#pragma once

#include <span>
#include <vector>

#include "memory/buffers.h"
#include "schedule/schedule.h"
#include "schedule/transfers.h"

namespace thimble {

struct Evaluation {
  Bytes peak = 0;
  double seconds = 0;
  double recompute_flops_ratio = 0;
  std::vector<Bytes> live;  // by step

  // Byte-steps above a target: what a descent towards it still has to remove.
  double excess(Bytes target) const;
};

Evaluation evaluate(const Scheduler& scheduler, std::span<const Keep> keep, const BufferOptions& options,
                    const Offload& offload = {});

}  // namespace thimble
