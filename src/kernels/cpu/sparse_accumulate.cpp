// Adds the gradient of a sparse tensor, at the positions that exist, to its slot of the accumulator's pool.
#include "kernels/cpu/sparse_update.h"

namespace thimble::kernels::THIMBLE_ISA::sparse_accumulate_kernel {
namespace {

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  const bool opens = q.attributes->integer("opens") == 1;
  auto state = std::make_unique<SparseUpdateState>(opens ? kReplace : kAccumulate, *q.attributes);
  state->slot = q.attributes->integer("slot");
  return state;
}

Status run(const KernelState& base, const Call& call) noexcept {
  run_sparse_update(static_cast<const SparseUpdateState&>(base), call, 1);
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "sparse_accumulate",
                           .name = "sparse_accumulate",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::sparse_accumulate_kernel
