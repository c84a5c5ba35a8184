// dx = 0 where x <= -3, dy where x >= 3, else dy (x / 3 + 1 / 2).
#include "kernels/cpu/elementwise.h"

namespace thimble::kernels::THIMBLE_ISA::hard_swish_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 2); }

Status run(const KernelState&, const Call& call) noexcept {
  map_binary(call, [](Vec x, Vec dy) {
    const Vec inside = mul(dy, fma(x, broadcast(1.0F / 3.0F), broadcast(0.5F)));
    return where_at_least(broadcast(-3), x, zero(), where_at_least(x, broadcast(3), dy, inside));
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "hard_swish_grad",
                           .name = "hard_swish_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::hard_swish_grad_kernel
