// Gradient of a convolution with respect to its weights, added to a running total: the gradient itself is never stored.
#include "kernels/cpu/conv_weight_gradient.h"
#include "kernels/cpu/update.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_add_grad_weight_kernel {
namespace {

void plan_for(WeightPlan& plan, const KernelQuery& q) {
  plan_weight_gradient(plan, *q.attributes, q.in[1], q.in[2], q.out[0], q.threads);
}

struct State : KernelState {
  WeightPlan plan;
  UpdateState update;  // how it rounds

  explicit State(const KernelQuery& q) : update(kAccumulate, *q.attributes) { plan_for(plan, q); }
};

std::unique_ptr<KernelState> prepare(const KernelQuery& q) { return std::make_unique<State>(q); }

Bytes workspace(const KernelQuery& q) {
  WeightPlan plan;
  plan_for(plan, q);
  return weight_gradient_workspace(plan);
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const TensorView& total = call.in[0];
  const TensorView& out = call.out[0];
  if (out.data != total.data)
    std::memcpy(out.data, total.data, static_cast<std::size_t>(Type{total.dtype, total.shape}.bytes()));
  run_weight_gradient(state.plan, {.x = call.in[1],
                                   .dy = call.in[2],
                                   .out = out,
                                   .workspace = call.workspace,
                                   .threads = call.threads,
                                   .adds = true,
                                   .rounding = state.update.rounding(*call.scalars)});
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "conv2d_add_grad_weight",
                           .name = "conv2d_add_grad_weight",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_add_grad_weight_kernel
