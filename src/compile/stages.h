// The stages for one microbatch: graphs, gradients, passes, kernels and schedulers of all its phases.
#pragma once

#include <map>
#include <memory>

#include "compile/compile.h"
#include "schedule/transfers.h"

namespace thimble {

using NamedKeep = std::map<std::string, Keep>;  // values that are not simply kept, by name: the same for every phase

// What a plan keeps, recomputes and spills, by name.
struct NamedChoice {
  NamedKeep keep;
  std::set<std::string> homes = {};  // persistent values that live in the spill file
  int ahead = 0;                     // as in Offload

  bool spills() const;
};

class Stages {
 public:
  Stages(const CompileRequest& request, std::int64_t microbatch, OpTable ops, KernelTable kernels);

  std::int64_t microbatch() const { return microbatch_; }
  std::int64_t evaluation_samples() const { return evaluation_samples_; }
  const Scheduler& busiest() const {
    return *schedulers_[busiest_];
  }  // the phase with the highest peak when all is kept
  BufferOptions buffers() const;
  Bytes persistent_bytes() const;  // of the busiest phase
  Bytes resident_kernel_bytes() const;
  std::int64_t node_count() const;  // of all phases

  NamedKeep by_name(std::span<const Keep> keep) const;  // from the busiest phase's values
  std::vector<Keep> on_busiest(const NamedKeep& keep) const { return on(busiest(), keep); }
  std::set<std::string> by_name(const Offload& offload) const;
  Offload on_busiest(const NamedChoice& choice) const { return on(busiest(), choice); }

  // Adds evaluation phases of at most `limit` live bytes; their size depends on the front, never on a budget.
  void add_evaluation(Bytes limit);

  struct Planned {
    PlanSet plans;
    PointSummary point;
    ReserveFacts facts;
    Reserve reserve;
  };
  Planned plan(const NamedChoice& choice, const std::string& strategy) const;

  void verify(const PlanSet& plans) const;  // InternalError if a plan does not do what its phase demands
  PackedPlans packed(const PlanSet& plans) const;

  // Verifies the plan and moves everything out for the executor.
  Compiled finish(Planned planned);
  // Moves the phases alone out, for an executor that has plans of another microbatch too.
  std::vector<Selected> finish_phases();

  const std::vector<std::string>& sparse_tensors() const { return sparse_tensors_; }
  bool batch_coupled() const { return batch_coupled_; }

 private:
  void add_phase(const Phase& phase);
  static std::vector<Keep> on(const Scheduler& scheduler, const NamedKeep& named);
  Offload on(const Scheduler& scheduler, const NamedChoice& choice) const;
  PointSummary summary_of(const PlanSet& plans, const std::string& strategy) const;

  const CompileRequest& request_;
  std::int64_t microbatch_;
  OpTable ops_;
  KernelTable kernels_;
  std::vector<PhaseTurn> turns_;  // of a full batch
  std::vector<std::unique_ptr<Selected>> selected_;
  std::vector<std::unique_ptr<Scheduler>> schedulers_;
  std::size_t busiest_ = 0;
  std::int64_t evaluation_samples_ = 0;
  std::vector<TensorSpec> tensors_;
  std::vector<std::string> sparse_tensors_;
  std::vector<PassReport> reports_;
  bool batch_coupled_ = false;
};

}  // namespace thimble
