// Any update rule on one slot of the pools of a sparse parameter; the gradient is dense or a pool of the same table.
#include "kernels/cpu/sparse_update.h"

namespace thimble::kernels::THIMBLE_ISA::sparse_update_kernel {
namespace {

std::string refuse(const KernelQuery& q) {
  if (find_rule(q.attributes->word("rule")) == nullptr) return "does not know this rule";
  return refuse_unstored(q);
}

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<SparseUpdateState>(*find_rule(q.attributes->word("rule")), *q.attributes);
  state->slot = q.attributes->integer("slot");
  state->has_pooled_gradient = q.in[static_cast<std::size_t>(state->rule.inputs) + 2].layout == Layout::pooled;
  return state;
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const SparseUpdateState&>(base);
  run_sparse_update(state, call, static_cast<std::size_t>(state.rule.inputs));
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "sparse_update",
                           .name = "sparse_update",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::sparse_update_kernel
