// Convolution by Winograd's tiles.
#include "kernels/cpu/winograd_forward.h"

namespace thimble::kernels::THIMBLE_ISA::winograd_conv2d_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_winograd_forward(q); }

std::unique_ptr<KernelState> prepare(const KernelQuery& q) { return prepare_winograd_forward(q); }

Bytes workspace(const KernelQuery& q) { return winograd_forward_workspace(q); }

Status run(const KernelState& state, const Call& call) noexcept { return run_winograd_forward(state, call); }

}  // namespace

extern const Kernel def = {.op = "conv2d",
                           .name = "winograd_conv2d",
                           .isa = kIsa,
                           .rank = kWinogradRank,
                           .pace = kGatherPace,
                           .refuse = refuse,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::winograd_conv2d_kernel
