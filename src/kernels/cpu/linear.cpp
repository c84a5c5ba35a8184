// Fully connected layer: x (B, C) times w (C, O), with bias and rectifier.
#include "kernels/cpu/matrix_product.h"

namespace thimble::kernels::THIMBLE_ISA::linear_kernel {
namespace {

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto plan = std::make_unique<ProductPlan>();
  plan->activation = activation_of(q);
  plan_product(*plan, q.in[0], q.in[1]);
  return plan;
}

Bytes workspace(const KernelQuery& q) {
  ProductPlan plan;
  plan_product(plan, q.in[0], q.in[1]);
  return plan.workspace(q.threads);
}

Status run(const KernelState& state, const Call& call) noexcept {
  const ProductPlan& plan = static_cast<const ProductPlan&>(state);
  run_product(plan, call, {.bias = call.in.size() == 3 ? &call.in[2] : nullptr, .activation = plan.activation});
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "linear",
                           .name = "linear",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::linear_kernel
