// Gradient of a convolution with respect to its input, alone or added to another gradient: a gather from dy with the
// weights transposed.
#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/conv_packed.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_grad_input_kernel {
namespace {

struct State : KernelState {
  GatherPlan plan;
};

GatherPlan plan_of(const KernelQuery& q) {
  return plan_packed(conv_shape(*q.attributes, q.out[0].shape, q.in[1].shape, q.in[0].shape), true, q.in[0].dtype);
}

std::string refuse(const KernelQuery& q) { return refuse_gather(q, q.in[1]); }

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->plan = plan_of(q);
  return state;
}

Bytes workspace(const KernelQuery& q) {
  const GatherPlan plan = plan_of(q);
  return plan.shape.is_depthwise() ? widened_elements(q.in[1]) * 4 : carve_packed(plan, q.threads, nullptr).bytes;
}

Status run(const KernelState& state, const Call& call) noexcept {
  const GatherPlan& plan = static_cast<const State&>(state).plan;
  if (plan.shape.is_depthwise()) {
    depthwise_grad_input(plan.shape, call);
  } else {
    gather_packed(plan, {.call = call, .ending = {.addend = call.in.size() == 3 ? &call.in[2] : nullptr}});
  }
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "conv2d_grad_input",
                           .name = "conv2d_grad_input",
                           .isa = kIsa,
                           .rank = kUnitRank,
                           .pace = kUnitPace,
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_grad_input_kernel
