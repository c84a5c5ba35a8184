// Convolution.
#include "kernels/cpu/conv_forward.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_gather(q, q.in[1]); }

std::unique_ptr<KernelState> prepare(const KernelQuery& q) { return prepare_forward(q); }

Bytes workspace(const KernelQuery& q) { return forward_workspace(q); }

Status run(const KernelState& state, const Call& call) noexcept { return run_forward<false>(state, call); }

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
