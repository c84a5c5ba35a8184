// Who holds which buffer of a planned phase at one step, and what it waits for. Looks the plan through once; a question
// then costs no more than the values that take turns in the buffer.
#pragma once

#include <vector>

#include "memory/plan.h"

namespace thimble {

struct Tenant {
  ValueId value;
  int last_read = -1;  // the last step of the buffer's life that reads it; -1: none from the step asked about on
};

class Tenants {
 public:
  // Refers to both: they must outlive it.
  Tenants(const Graph& graph, const PhasePlan& plan);

  // Several values may take turns in a buffer; views do not count as holders of their own. The buffer holds values.
  Tenant at(const PlannedBuffer& buffer, int step) const;

  // A gradient by which a parameter or its total is updated belongs to the parameter; any other is a layer's own.
  bool is_parameter_gradient(const PlannedBuffer& buffer) const;
  // The same where the gradient is gone before its update comes, to be made again for it.
  bool waits_for_update(ValueId gradient) const { return updates_.at(index_of(gradient)).is_wanted; }

 private:
  struct Updates {
    std::vector<int> steps;  // ascending
    bool is_wanted = false;  // some update of the graph is by this gradient
  };

  static std::size_t index_of(ValueId value) { return static_cast<std::size_t>(value.index); }
  ValueId without_views(ValueId value) const;

  const Graph& graph_;
  // Of each value, in ascending order: the steps that make it, and those that read it or a view of it.
  std::vector<std::vector<int>> made_, read_;
  std::vector<Updates> updates_;
};

}  // namespace thimble
