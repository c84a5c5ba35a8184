// Convolution by Winograd's tiles of a tensor that is normalised while its tiles are read.
#include "kernels/cpu/winograd_forward.h"

namespace thimble::kernels::THIMBLE_ISA::winograd_norm_conv2d_kernel {
namespace {

std::string refuse(const KernelQuery& q) {
  std::string reason = refuse_norm_source(q, 0, q.in[5]);
  if (!reason.empty()) return reason;
  const PlainOperands<Type> plain(q.in, 0);
  return refuse_winograd_forward({plain.span(), q.out, q.attributes, q.threads});
}

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  const PlainOperands<Type> plain(q.in, 0);
  return prepare_winograd_forward({plain.span(), q.out, q.attributes, q.threads}, source_norm(*q.attributes, q.in[0]));
}

Bytes workspace(const KernelQuery& q) {
  const PlainOperands<Type> plain(q.in, 0);
  return winograd_forward_workspace({plain.span(), q.out, q.attributes, q.threads},
                                    source_norm(*q.attributes, q.in[0]));
}

Status run(const KernelState& state, const Call& call) noexcept {
  const PlainOperands<TensorView> operands(call.in, 0);
  Call plain = call;
  plain.in = operands.span();
  return run_winograd_forward(state, plain, call.in.subspan(1, kNormOperands));
}

}  // namespace

extern const Kernel def = {.op = "norm_conv2d",
                           .name = "winograd_norm_conv2d",
                           .isa = kIsa,
                           .rank = kWinogradRank,
                           .pace = kGatherPace,
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::winograd_norm_conv2d_kernel
