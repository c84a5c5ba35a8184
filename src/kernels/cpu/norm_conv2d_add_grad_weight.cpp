// Gradient of the weights of a convolution whose source is normalised while its bands are copied, added to a running
// total.
#include "kernels/cpu/conv_weight_gradient.h"
#include "kernels/cpu/update.h"

namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_add_grad_weight_kernel {
namespace {

constexpr std::size_t kSource = 1, kGradient = 6;

std::string refuse(const KernelQuery& q) {
  if (q.out[0].shape[2] == 1 && q.attributes->integer("groups") > 1) return "copies no bands of depthwise convolutions";
  return refuse_norm_source(q, kSource);
}

void plan_for(WeightPlan& plan, const KernelQuery& q) {
  plan_weight_gradient(plan, *q.attributes, q.in[kSource], q.in[kGradient], q.out[0], q.threads,
                       source_norm(*q.attributes, q.in[kSource]));
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
  run_weight_gradient(state.plan, {.x = call.in[kSource],
                                   .dy = call.in[kGradient],
                                   .out = out,
                                   .workspace = call.workspace,
                                   .threads = call.threads,
                                   .adds = true,
                                   .rounding = state.update.rounding(*call.scalars),
                                   .norm = call.in.subspan(kSource + 1, kNormOperands)});
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "norm_conv2d_add_grad_weight",
                           .name = "norm_conv2d_add_grad_weight",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_add_grad_weight_kernel
