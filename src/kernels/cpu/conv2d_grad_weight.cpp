// Gradient of a convolution with respect to its weights.
#include "kernels/cpu/conv_weight_gradient.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_grad_weight_kernel {
namespace {

void plan_for(WeightPlan& plan, const KernelQuery& q) {
  plan_weight_gradient(plan, *q.attributes, q.in[0], q.in[1], q.out[0], q.threads);
}

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto plan = std::make_unique<WeightPlan>();
  plan_for(*plan, q);
  return plan;
}

Bytes workspace(const KernelQuery& q) {
  WeightPlan plan;
  plan_for(plan, q);
  return weight_gradient_workspace(plan);
}

Status run(const KernelState& state, const Call& call) noexcept {
  run_weight_gradient(
      static_cast<const WeightPlan&>(state),
      {.x = call.in[0], .dy = call.in[1], .out = call.out[0], .workspace = call.workspace, .threads = call.threads});
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "conv2d_grad_weight",
                           .name = "conv2d_grad_weight",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_grad_weight_kernel
