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

const Evaluation& Judge::operator()(const Holding& holding) { return judge(emitter_.run(holding.keep, holding.gaps)); }

const Evaluation& Judge::operator()(const Holding& holding, const Offload& offload) {
  PhaseSchedule& schedule = emitter_.run(holding.keep, holding.gaps);
  add_transfers(*selected_, offload, schedule);
  return judge(schedule);
}

const Evaluation& Judge::judge(const PhaseSchedule& schedule) {
  Evaluation& result = evaluation_;
  result.seconds = schedule.seconds;
  result.recompute_flops_ratio =
      schedule.flops > 0 ? schedule.recompute_flops / (schedule.flops - schedule.recompute_flops) : 0;
  buffers_.live(schedule, result.live);
  result.peak = result.live.empty() ? 0 : *std::max_element(result.live.begin(), result.live.end());
  work_ += static_cast<std::int64_t>(schedule.steps.size());
  return result;
}

double work_scale(const Scheduler& scheduler) {
  constexpr double kUsual = 650, kMost = 3;  // steps of a network of fifty layers
  return std::clamp(static_cast<double>(scheduler.order().size()) / kUsual, 1.0, kMost);
}

std::int64_t MostWork::of(const Scheduler& scheduler) const {
  const auto scaled = static_cast<std::int64_t>(work_scale(scheduler) * static_cast<double>(steps));
  return std::min(scaled, schedules * static_cast<std::int64_t>(scheduler.order().size()));
}

Evaluation evaluate(const Scheduler& scheduler, const Holding& holding, const BufferOptions& options,
                    const Offload& offload) {
  return Judge(scheduler, options)(holding, offload);
}

Evaluation evaluate_all_kept(const Scheduler& scheduler, const BufferOptions& options) {
  return evaluate(scheduler, {scheduler.keep_all()}, options);
}

}  // namespace thimble
