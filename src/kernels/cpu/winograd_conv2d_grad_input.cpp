// Gradient of a convolution with respect to its input by Winograd's tiles, alone or added to another gradient.
#include "kernels/cpu/winograd_gather.h"
#include "kernels/cpu/winograd_shape.h"

namespace thimble::kernels::THIMBLE_ISA::winograd_conv2d_grad_input_kernel {
namespace {

struct State : KernelState {
  WinogradPlan plan;
};

ConvShape shape_of(const KernelQuery& q) {
  return conv_shape(*q.attributes, q.out[0].shape, q.in[1].shape, q.in[0].shape);
}

std::string refuse(const KernelQuery& q) {
  const ConvShape s = shape_of(q);
  std::string reason = refuse_winograd_types(q, q.in[0]);
  if (reason.empty()) reason = refuse_winograd_shape(s, kGatherGain);
  if (!reason.empty()) return reason;
  return refuse_winograd_workspace(s, carve_winograd(plan_winograd(s, true), kWinogradThreads, nullptr).bytes);
}

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->plan = plan_winograd(shape_of(q), true);
  return state;
}

Bytes workspace(const KernelQuery& q) {
  return carve_winograd(plan_winograd(shape_of(q), true), q.threads, nullptr).bytes;
}

Status run(const KernelState& state, const Call& call) noexcept {
  run_winograd(static_cast<const State&>(state).plan,
               {.call = call, .ending = {.addend = call.in.size() == 3 ? &call.in[2] : nullptr}});
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "conv2d_grad_input",
                           .name = "winograd_conv2d_grad_input",
                           .isa = kIsa,
                           .rank = kWinogradRank,
                           .pace = kGatherPace,
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::winograd_conv2d_grad_input_kernel
