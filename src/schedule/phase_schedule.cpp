#include "schedule/phase_schedule.h"

namespace thimble {

void set_lifetimes(PhaseSchedule& schedule) {
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const auto index = static_cast<std::int32_t>(s);
    for (const std::int32_t i : schedule.inputs(schedule.steps[s]))
      schedule.instances[static_cast<std::size_t>(i)].last_step = index;
    for (const std::int32_t i : schedule.outputs(schedule.steps[s])) {
      Instance& instance = schedule.instances[static_cast<std::size_t>(i)];
      instance.first_step = index;
      instance.last_step = index;
    }
  }
}

}  // namespace thimble
