// dx = dy y (1 - y).
#include "kernels/cpu/elementwise.h"

namespace thimble::kernels::THIMBLE_ISA::sigmoid_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 2); }

Status run(const KernelState&, const Call& call) noexcept {
  map_binary(call, [](Vec y, Vec dy) { return mul(dy, mul(y, sub(broadcast(1), y))); });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "sigmoid_grad",
                           .name = "sigmoid_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::sigmoid_grad_kernel
