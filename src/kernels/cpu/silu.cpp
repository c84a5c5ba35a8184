// x times its own sigmoid.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/exponential.h"

namespace thimble::kernels::THIMBLE_ISA::silu_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

Status run(const KernelState&, const Call& call) noexcept {
  map_unary(call, [](Vec x) { return div(x, add(broadcast(1), exp(sub(zero(), x)))); });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "silu",
                           .name = "silu",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::silu_kernel
