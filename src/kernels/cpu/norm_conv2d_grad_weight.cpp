// Gradient of the weights of a convolution whose source is normalised while its bands are copied.
#include "kernels/cpu/conv_weight_gradient.h"

namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_grad_weight_kernel {
namespace {

constexpr std::size_t kGradient = 5;

std::string refuse(const KernelQuery& q) {
  if (q.out[0].shape[2] == 1 && q.attributes->integer("groups") > 1) return "copies no bands of depthwise convolutions";
  return refuse_norm_source(q, 0);
}

void plan_for(WeightPlan& plan, const KernelQuery& q) {
  plan_weight_gradient(plan, *q.attributes, q.in[0], q.in[kGradient], q.out[0], q.threads,
                       source_norm(*q.attributes, q.in[0]));
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
  run_weight_gradient(static_cast<const WeightPlan&>(state), {.x = call.in[0],
                                                              .dy = call.in[kGradient],
                                                              .out = call.out[0],
                                                              .workspace = call.workspace,
                                                              .threads = call.threads,
                                                              .norm = call.in.subspan(1, kNormOperands)});
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "norm_conv2d_grad_weight",
                           .name = "norm_conv2d_grad_weight",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_grad_weight_kernel
