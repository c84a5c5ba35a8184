// dx = dy where y > 0.
#include "kernels/cpu/elementwise.h"

namespace thimble::kernels::THIMBLE_ISA::relu_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 2); }

Status run(const KernelState&, const Call& call) noexcept {
  map_binary<true>(call, [](Vec y, Vec dy) { return where_positive(y, dy); });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "relu_grad",
                           .name = "relu_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::relu_grad_kernel
