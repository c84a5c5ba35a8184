// Judges a choice of what to hold and what to spill: live bytes at every step and predicted time.
#pragma once

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

// Judges one choice after another in the same memory.
class Judge {
 public:
  // `scheduler` must outlive it.
  Judge(const Scheduler& scheduler, const BufferOptions& options)
      : selected_(&scheduler.selected()), emitter_(scheduler.emitter()), buffers_(scheduler.flat(), options) {}

  // Valid until the next. Without an offload nothing may be spilled.
  const Evaluation& operator()(const Holding& holding);
  const Evaluation& operator()(const Holding& holding, const Offload& offload);

  std::int64_t work() const { return work_; }  // steps of all schedules judged so far

 private:
  const Evaluation& judge(const PhaseSchedule& schedule);

  const Selected* selected_;
  Emitter emitter_;
  BufferMaker buffers_;
  Evaluation evaluation_;
  std::int64_t work_ = 0;
};

// How much more a search may judge on a large graph, where every judgement takes longer: planning of long networks
// takes longer, but not in proportion.
double work_scale(const Scheduler& scheduler);

// Steps of schedules that a search may judge: so many, times work_scale(), bound what a large graph takes; so many
// schedules bound a small one.
struct MostWork {
  std::int64_t steps = 0, schedules = 0;

  std::int64_t of(const Scheduler& scheduler) const;
};

Evaluation evaluate(const Scheduler& scheduler, const Holding& holding, const BufferOptions& options,
                    const Offload& offload = {});
Evaluation evaluate_all_kept(const Scheduler& scheduler, const BufferOptions& options);

}  // namespace thimble
