// dx = dy s (1 + x (1 - s)), s = sigmoid(x).
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/exponential.h"

namespace thimble::kernels::THIMBLE_ISA::silu_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 2); }

Status run(const KernelState&, const Call& call) noexcept {
  map_binary(call, [](Vec x, Vec dy) {
    // 1 - s = e s keeps its digits where s is nearly one. The bound keeps e finite; beyond it dx is less than 2e-36 dy.
    const Vec bounded = max(broadcast(-87), x), e = exp(sub(zero(), bounded));
    const Vec s = div(broadcast(1), add(broadcast(1), e));
    return mul(dy, mul(s, fma(bounded, mul(e, s), broadcast(1))));
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "silu_grad",
                           .name = "silu_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::silu_grad_kernel
