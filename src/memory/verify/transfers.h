// The spill file and the transfers of one phase, executed symbolically beside its steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "memory/verify/contents.h"
#include "memory/verify/terms.h"

namespace thimble {

inline constexpr Bytes kBlockAlignment = 4096;  // of the spill file; stated again on purpose

// A transfer takes what its source holds at its start and gives it to its target at its wait; in between the target
// holds rubbish, no step may write the arena's end, and no other transfer may meet either end.
class TransferExecution {
 public:
  TransferExecution(const Graph& graph, const PhasePlan& plan, const PlanSet& set, Contents& arena);

  // A start or wait step. Nothing if it is sound.
  std::optional<std::string> run(const PlannedStep& step, int s);

  // What a step that runs a node would disturb: it may read what is being stored, and nothing else in flight.
  std::optional<std::string> find_touch(const PlannedStep& step) const;

  // Nothing may be in flight after the last step, and the spill file must hold the last versions.
  std::optional<std::string> find_end_fault(const Demands& demands) const;

 private:
  struct Flight {
    int transfer = -1;
    int started = 0;
    Term term = 0;
  };

  const PlannedTransfer& transfer(int index) const { return plan_.transfers[static_cast<std::size_t>(index)]; }
  std::string text(int index) const;
  std::optional<std::string> find_place_fault(int index) const;
  std::optional<std::string> find_meeting(int index) const;
  std::optional<std::string> start(int index, int s);
  std::optional<std::string> wait(int index, int s);

  const Graph& graph_;
  const PhasePlan& plan_;
  const PlanSet& set_;
  Contents& arena_;
  Contents spill_;
  std::vector<Flight> flights_;
  int next_start_ = 0;  // transfers start in the order in which they are listed, each once
};

}  // namespace thimble
