// The stages for one microbatch: graphs, gradients, passes, kernels and schedulers of all its phases.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "schedule/transfers.h"

namespace thimble {

// A holding by names, which mean the same in every phase and for every microbatch. Fronts have hundreds of them, and
// planning lives inside the budget: names stand in one table that all of a front share.
struct NamedHolding {
  using Names = std::vector<std::string>;
  struct NamedMode {
    std::int32_t value = 0;  // of the names
    Keep mode = Keep::keep;
  };
  struct NamedGap {
    std::int32_t value = 0;
    std::int32_t after = 0;  // the first output of the step
    bool is_held = false;
  };
  std::shared_ptr<const Names> names;
  std::vector<NamedMode> modes;  // values that are not held as they would be if all were kept
  std::vector<NamedGap> gaps;
};

// What a plan keeps, recomputes and spills, by name.
struct NamedChoice {
  NamedHolding holding;
  std::vector<std::int32_t> homes = {};  // of the holding's names: persistent values that live in the spill file
  int ahead = 0;                         // as in Offload

  bool spills() const;
};

class Stages {
 public:
  Stages(const CompileRequest& request, std::int64_t microbatch, OpTable ops, KernelTable kernels);

  std::int64_t microbatch() const { return microbatch_; }
  std::int64_t evaluation_samples() const { return evaluation_samples_; }
  std::size_t turn_count() const { return turns_.size(); }  // microbatches in an iteration
  const Scheduler& busiest() const {
    return *schedulers_[busiest_];
  }  // the phase with the highest peak when all is kept
  BufferOptions buffers() const;
  Bytes persistent_bytes() const { return persistent_bytes_; }  // of the busiest phase
  Bytes resident_kernel_bytes() const;
  std::int64_t node_count() const;  // of all phases
  void add_coverage(CostCoverage& coverage) const;

  NamedHolding by_name(const Holding& holding) const;  // from the busiest phase's values
  Holding on_busiest(const NamedHolding& named) const;
  std::vector<std::int32_t> by_name(const Offload& offload) const;

  // Adds evaluation phases of at most `limit` live bytes; their size depends on the front, never on a budget.
  void add_evaluation(Bytes limit);

  struct Planned {
    PlanSet plans;
    PointSummary point;
    ReserveFacts facts;
    Reserve reserve;
  };
  Planned plan(const NamedChoice& choice, const std::string& strategy) const;
  // What the reserve of every plan of a choice with such an arena, or a larger one, has to cover; of an empty choice,
  // which recomputes nothing, that of every choice. Steps are counted, which is much cheaper than a plan.
  ReserveFacts least_facts(const NamedChoice& choice, Bytes arena) const;

  void verify(const PlanSet& plans) const;  // InternalError if a plan does not do what its phase demands
  PackedPlans packed(const PlanSet& plans) const;

  // Verifies the plan and moves everything out for the executor.
  Compiled finish(Planned planned);
  // Moves the phases alone out, for an executor that has plans of another microbatch too.
  std::vector<Selected> finish_phases();

  const std::vector<std::string>& sparse_tensors() const { return sparse_tensors_; }
  bool batch_coupled() const { return batch_coupled_; }

 private:
  // A forward graph behind its passes: the phases of one size differ only in what comes after it.
  struct Forward {
    std::int64_t samples = 0;
    Mode mode = Mode::training;
    Graph graph;
    std::vector<PassReport> reports;
  };

  void build_forward(std::int64_t samples, Mode mode);
  void add_phase(const Phase& phase);
  Offload on(const Scheduler& scheduler, const NamedChoice& choice) const;
  ReserveFacts facts_of(Bytes arena) const;  // without steps and spill
  PointSummary summary_of(const PlanSet& plans, const std::string& strategy) const;

  const CompileRequest& request_;
  std::int64_t microbatch_;
  OpTable ops_;
  KernelTable kernels_;
  std::vector<PhaseTurn> turns_;    // of a full batch
  std::optional<Forward> forward_;  // the last one built, while phases are added
  std::vector<std::unique_ptr<Selected>> selected_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;
  mutable std::shared_ptr<const NamedHolding::Names> names_;  // of the busiest phase's values, once they are asked for
  std::size_t busiest_ = 0;
  Bytes persistent_bytes_ = 0;
  std::int64_t evaluation_samples_ = 0;
  std::vector<TensorSpec> tensors_;
  std::vector<std::string> sparse_tensors_;
  std::vector<PassReport> reports_;
  bool batch_coupled_ = false;
};

// Without what steps and kernels take: no plan with such an arena has a smaller one.
Reserve least_reserve(const CompileRequest& request, Bytes arena);

}  // namespace thimble
