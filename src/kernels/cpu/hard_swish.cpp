// x min(max(x + 3, 0), 6) / 6.
#include "kernels/cpu/activation.h"
#include "kernels/cpu/elementwise.h"

namespace thimble::kernels::THIMBLE_ISA::hard_swish_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

Status run(const KernelState&, const Call& call) noexcept {
  map_unary(call, [](Vec x) {
    constexpr float kSixth = 1.0F / 6.0F;  // six times it is one: y = x beyond the corner, exactly
    return mul(x, mul(relu6(add(x, broadcast(3))), broadcast(kSixth)));
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "hard_swish",
                           .name = "hard_swish",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::hard_swish_kernel
