// Emits the steps of a schedule, recomputing on demand whatever is wanted and not in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/flat_graph.h"
#include "schedule/holding.h"
#include "schedule/phase_schedule.h"

namespace thimble {

// Steps of the order by the part of the phase they belong to.
struct Parts {
  std::int32_t forward_end = 0, first_pass_end = 0;
};

// A gap of a schedule, by base steps: those that count originals, and what a second pass repeats.
struct MetGap {
  Gap gap;
  std::int32_t touched = 0, wanted = 0;  // the value is or would be held from the end of one to the start of the other
};

class Emitter {
 public:
  // `graph` and `order` must outlive it.
  Emitter(const FlatGraph& graph, std::span<const NodeId> order, Parts parts);

  // Gaps of what is run next are noted in `seen`.
  void note_gaps(std::vector<MetGap>& seen) { seen_ = &seen; }

  // Valid until the next run, which takes the same memory. `gaps` is sorted.
  PhaseSchedule& run(std::span<const Keep> keep, std::span<const Gap> gaps);

 private:
  // Where an emission stands.
  struct Emission {
    PhaseSchedule schedule;
    std::int32_t base_step = 0;             // counts originals, and what a second pass repeats
    std::vector<std::int32_t> current;      // by value: the instance a reader would find in memory
    std::vector<std::int32_t> touched;      // the base step that last made or read a value, itself or for another
    std::vector<std::int32_t> last_reader;  // by value that is overwritten
    std::vector<std::int32_t> updates;      // steps
  };

  void begin();
  void index_gaps(std::span<const Gap> gaps);
  bool is_plain_forward() const;
  std::int32_t add_instance(std::int32_t value, std::int32_t step);
  std::vector<bool> repeated_nodes() const;
  void run_second_pass();
  int part_of(std::int32_t base_step) const;
  const Gap* find_gap(std::int32_t value, std::int32_t touched) const;
  bool is_available(std::int32_t value) const;
  void touch(std::int32_t value);
  void note_gap(std::int32_t value);
  void emit_base(NodeId id, bool is_recompute);
  void emit(std::int32_t id, bool is_recompute);
  void make_again(std::int32_t value);
  void load_back(std::int32_t value);
  void delay_updates();

  const FlatGraph& graph_;
  std::span<const NodeId> order_;
  Parts parts_;
  std::vector<std::int32_t> given_;  // values that are there before the phase starts
  std::vector<bool> is_forward_;     // by node
  std::span<const Keep> keep_;
  std::span<const Gap> gaps_;
  std::vector<std::int32_t> first_gap_;  // by value, and the end; empty without gaps
  Emission now_, after_forward_;
  std::vector<std::int32_t> places_;  // by update: the step it goes behind
  std::vector<std::int32_t> first_behind_, next_behind_;
  std::vector<Step> reordered_;
  std::vector<MetGap>* seen_ = nullptr;  // gaps are noted here, if anyone asks
};

}  // namespace thimble
