// Updates the weights of a fully connected layer by their gradient, which is never stored: that of a pointwise
// convolution over one row, whose pixels are the samples.
#include "kernels/cpu/conv_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA::linear_update_weight_kernel {
namespace {

using State = WeightState<WeightOperands{.ending = WeightEnding::updates}, WeightPlan>;

Shape as_row(const Shape& matrix) { return {1, 1, matrix[0], matrix[1]}; }

void plan_for(WeightPlan& plan, const KernelQuery& q) {
  const Type &x = q.in[q.in.size() - 2], &dy = q.in.back();
  const std::int64_t samples = x.shape[0];
  plan_weight_gradient(plan,
                       {.batch = 1,
                        .height = 1,
                        .width = samples,
                        .channels = x.shape[1],
                        .out_height = 1,
                        .out_width = samples,
                        .out_channels = dy.shape[1],
                        .kernel_height = 1,
                        .kernel_width = 1},
                       x, dy, WeightEnding::updates, q.out[0].dtype, q.threads);
}

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>(*q.attributes);
  plan_for(state->plan, q);
  return state;
}

Bytes workspace(const KernelQuery& q) {
  WeightPlan plan;
  plan_for(plan, q);
  return carve_weight_work(plan, nullptr).bytes;
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  state.ask(call, [&](const WeightCall& what) {
    TensorView x = what.x, dy = what.dy;
    x.shape = as_row(x.shape);
    dy.shape = as_row(dy.shape);
    run_weight_gradient(state.plan, {.x = x,
                                     .dy = dy,
                                     .update = what.update,
                                     .out = what.out,
                                     .workspace = what.workspace,
                                     .threads = what.threads});
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "linear_update_weight",
                           .name = "linear_update_weight",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::linear_update_weight_kernel
