// Convolution of a tensor that is normalised while its bands are copied.
#include "kernels/cpu/conv_forward.h"

namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_norm_source(q, 0, q.in[5]); }

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  const PlainOperands<Type> plain(q.in, 0);
  return prepare_forward({plain.span(), q.out, q.attributes, q.threads}, source_norm(*q.attributes, q.in[0]));
}

Bytes workspace(const KernelQuery& q) {
  const PlainOperands<Type> plain(q.in, 0);
  return forward_workspace(
      plan_forward({plain.span(), q.out, q.attributes, q.threads}, source_norm(*q.attributes, q.in[0])), q.threads);
}

Status run(const KernelState& state, const Call& call) noexcept {
  const PlainOperands<TensorView> operands(call.in, 0);
  Call plain = call;
  plain.in = operands.span();
  return run_forward(state, plain, call.in.subspan(1, kNormOperands));
}

}  // namespace

extern const Kernel def = {.op = "norm_conv2d",
                           .name = "norm_conv2d",
                           .isa = kIsa,
                           .rank = kUnitRank,
                           .pace = kUnitPace,
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_kernel
