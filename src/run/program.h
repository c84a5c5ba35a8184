// A plan bound to kernels and addresses. It can only run.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "memory/plan.h"
#include "run/arena.h"
#include "select/select.h"

namespace thimble {

struct ProgramOptions {
  bool poison = false;  // a test configuration: every transient buffer is filled with NaN after its last use
  Bytes guard = 0;      // a test configuration: bytes on both sides of a transient buffer that nobody may write
};

class Program {
 public:
  // `phases` and `set` belong together, phase by phase; neither is needed once the program is bound.
  Program(std::span<const Selected> phases, const PlanSet& set, Arena& arena, const ProgramOptions& options);

  int phase_index(const Phase& phase) const;  // -1 if there is no such phase
  Status run(int phase, const RunScalars& scalars) const noexcept;

  TensorView input(int phase, std::string_view name) const;  // where the host puts images and labels
  TensorView persistent(std::string_view name) const;        // InternalError if there is none
  bool has_persistent(std::string_view name) const;

  struct Persistent {
    std::string name;
    Role role;
    TensorView view;
  };
  const std::vector<Persistent>& persistents() const { return persistents_; }

  // Guard bytes that were written over since the program was bound; zero unless a kernel is broken.
  int damaged_guards() const noexcept;

 private:
  struct BoundStep {
    Status (*run)(const KernelState&, const Call&) noexcept = nullptr;
    const KernelState* state = nullptr;
    std::uint32_t first_view = 0;
    std::uint16_t input_count = 0;
    std::uint16_t output_count = 0;
    std::byte* workspace = nullptr;
  };
  struct Poisoned {
    std::int32_t step = 0;
    Place place;
  };
  struct BoundInput {
    std::string name;
    TensorView view;
  };
  struct BoundPhase {
    Phase phase;
    std::vector<BoundStep> steps;
    std::vector<TensorView> views;
    std::vector<BoundInput> inputs;
    std::vector<Poisoned> poisoned;  // by step
    std::vector<Place> guards;
  };

  BoundPhase bind(const Selected& selected, const PhasePlan& plan);
  const KernelState* state_for(const Selected& selected, NodeId node);
  void poison(const BoundPhase& phase, std::int32_t step, std::size_t& next) const noexcept;

  Arena& arena_;
  ProgramOptions options_;
  int threads_ = 1;
  std::vector<BoundPhase> phases_;
  std::vector<Persistent> persistents_;
  // One state for every distinct use of a kernel.
  struct PreparedState {
    const Kernel* kernel;
    std::string use;
    std::unique_ptr<KernelState> state;
  };
  std::vector<PreparedState> states_;
};

}  // namespace thimble
