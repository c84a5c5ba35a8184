// dx = dy where 0 < y < 6.
#include "kernels/cpu/activation.h"
#include "kernels/cpu/elementwise.h"

namespace thimble::kernels::THIMBLE_ISA::relu6_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 2); }

Status run(const KernelState&, const Call& call) noexcept {
  map_binary<true>(call, [](Vec y, Vec dy) { return where_inside_relu6(y, dy); });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "relu6_grad",
                           .name = "relu6_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::relu6_grad_kernel
