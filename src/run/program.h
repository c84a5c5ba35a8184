// A plan bound to kernels and addresses. It can only run, and move to another plan of the same set.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "memory/packed_plan.h"
#include "memory/plan.h"
#include "run/arena.h"
#include "run/mover.h"
#include "select/select.h"

namespace thimble {

struct ProgramOptions {
  bool poison = false;  // a test configuration: every transient buffer is filled with NaN after its last use
  Bytes guard = 0;      // a test configuration: bytes on both sides of a transient buffer that nobody may write
};

class Program {
 public:
  // `phases` and `set` belong together, phase by phase; neither is needed once the program is bound. `mover`: for plans
  // with a spill file.
  Program(std::span<const Selected> phases, const PlanSet& set, Arena& arena, const ProgramOptions& options,
          Mover* mover = nullptr);

  // Kernels for phases that only plans entered later know.
  void add_phases(std::span<const Selected> phases);

  // Runs by these plans from now on; the arena must be large enough for both the old ones and these, and `plans` must
  // outlive their use. Between phases only. `persistents` say what lies at the packed places, in their order; what the
  // old plans have elsewhere moves there. UserError if the spill file fails.
  void enter(const PackedPlans& plans, std::span<const PersistentPlace> persistents);

  int phase_index(const Phase& phase) const;  // -1 if there is no such phase in the present plan
  Status run(int phase, const RunScalars& scalars) const noexcept;

  // The nodes of the phase's steps, in order; none that is valid where a step moves bytes.
  std::vector<NodeId> steps(int phase) const;
  // As run(), and how long each step took: `seconds` has room for as many as steps() has.
  Status run_timed(int phase, const RunScalars& scalars, std::span<double> seconds) const noexcept;

  TensorView input(int phase, std::string_view name) const;  // where the host puts images and labels
  TensorView persistent(std::string_view name) const;        // InternalError if there is none
  bool has_persistent(std::string_view name) const;

  struct Persistent {
    std::string name;
    Role role;
    TensorView view;          // without data if it lives in the spill file
    Bytes spill_offset = -1;  // where there; -1: it lives in the arena
  };
  const std::vector<Persistent>& persistents() const { return persistents_; }

  // Guard bytes that were written over since the program was bound; zero unless a kernel is broken.
  int damaged_guards() const noexcept;

 private:
  struct BoundNode {
    Status (*run)(const KernelState&, const Call&) noexcept = nullptr;  // null: a view
    const KernelState* state = nullptr;
    std::uint32_t first_type = 0;
    std::uint16_t input_count = 0;
    std::uint16_t output_count = 0;
  };
  struct BoundInput {
    std::string name;
    ValueId value;
    Type type;
  };
  struct BoundPhase {
    Phase phase;
    std::vector<BoundNode> nodes;
    std::vector<std::uint32_t> types;  // of all nodes' inputs and outputs: indices of types_
    std::vector<BoundInput> inputs;
    const PackedPhase* plan = nullptr;  // null: not a phase of the present plan
  };
  // One state for every distinct use of a kernel.
  struct PreparedState {
    const Kernel* kernel;
    std::string use;
    std::unique_ptr<KernelState> state;
  };

  BoundPhase bind(const Selected& selected);
  void move_persistents(std::vector<Persistent> to);
  std::uint32_t type_index(const Type& type);
  const KernelState* state_for(const Selected& selected, NodeId node);
  std::byte* at(std::uint32_t unit) const { return arena_.data() + unit * kPackedUnit; }
  template <typename Around>
  Status run_steps(const BoundPhase& phase, const RunScalars& scalars, Around around) const noexcept;
  Status run_transfer(const PackedPhase& plan, std::uint32_t word, std::uint64_t first) const noexcept;
  void poison(const PackedPhase& plan, std::int32_t step, std::size_t& next) const noexcept;
  void set_guards();
  template <typename Visit>
  void for_each_guard(Visit visit) const;

  Arena& arena_;
  ProgramOptions options_;
  Mover* mover_;
  int threads_ = 1;
  PackedPlans first_;
  std::vector<BoundPhase> phases_;
  std::vector<Persistent> persistents_;
  std::vector<Type> types_;  // distinct ones
  std::vector<PreparedState> states_;
  mutable std::vector<TensorView> views_;  // of the step that runs: room for the most that a step has
};

}  // namespace thimble
