// Convolution.
#include "kernels/cpu/conv_forward.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_kernel {
namespace {

// Depthwise there are no pairs to multiply, but results to round: the pace is wrong then, but it is bytes that count.
std::string refuse(const KernelQuery& q) {
  const bool is_depthwise = q.in[1].shape[2] == 1 && q.in[1].shape[3] == q.attributes->integer("groups");
  if (kRoundsAtOnce && is_depthwise && q.in[0].dtype == DType::bf16) return refuse_unstored(q);
  return refuse_source(q, q.in[0], q.in[1]);
}

std::unique_ptr<KernelState> prepare(const KernelQuery& q) { return prepare_forward(q); }

Bytes workspace(const KernelQuery& q) { return forward_workspace(plan_forward(q), q.threads); }

Status run(const KernelState& state, const Call& call) noexcept { return run_forward(state, call); }

}  // namespace

extern const Kernel def = {.op = "conv2d",
                           .name = "conv2d",
                           .isa = kIsa,
                           .rank = kUnitRank,
                           .pace = kUnitPace,
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_kernel
