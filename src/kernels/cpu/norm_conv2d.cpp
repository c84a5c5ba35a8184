// Convolution of a tensor that is normalised on the way.
#include "kernels/cpu/conv_forward.h"

namespace thimble::kernels::THIMBLE_ISA::norm_conv2d_kernel {
namespace {

std::string refuse(const KernelQuery& q) {
  std::string reason = refuse_norm(q, 0);
  return reason.empty() ? refuse_gather(q, q.in[5]) : reason;
}

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  const PlainOperands<Type> plain(q.in, 0);
  return prepare_forward({plain.span(), q.out, q.attributes, q.threads}, source_norm(*q.attributes, q.in[0]));
}

Bytes workspace(const KernelQuery& q) {
  const PlainOperands<Type> plain(q.in, 0);
  return forward_workspace({plain.span(), q.out, q.attributes, q.threads}, source_norm(*q.attributes, q.in[0]));
}

Status run(const KernelState& state, const Call& call) noexcept {
  const PlainOperands<TensorView> operands(call.in, 0);
  Call plain = call;
  plain.in = operands.span();
  return run_forward<true>(state, plain, call.in.subspan(1, kNormOperands));
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
