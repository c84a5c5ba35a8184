#include "search/evaluate.h"

#include <algorithm>

namespace thimble {

double Evaluation::excess(Bytes target) const {
  double sum = 0;
  for (const Bytes bytes : live) {
    if (bytes > target) sum += static_cast<double>(bytes - target);
  }
  return sum;
}

Evaluation evaluate(const Scheduler& scheduler, std::span<const Keep> keep, const BufferOptions& options,
                    const Offload& offload) {
  PhaseSchedule schedule = scheduler.make(keep);
  add_transfers(scheduler.selected(), offload, schedule);
  Evaluation result;
  result.seconds = schedule.seconds;
  result.recompute_flops_ratio =
      schedule.flops > 0 ? schedule.recompute_flops / (schedule.flops - schedule.recompute_flops) : 0;
  result.live = live_bytes(make_buffers(scheduler.selected(), schedule, options), schedule.steps.size());
  result.peak = result.live.empty() ? 0 : *std::max_element(result.live.begin(), result.live.end());
  return result;
}

}  // namespace thimble
