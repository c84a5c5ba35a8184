// Rectifier that saturates at six.
#include "kernels/cpu/activation.h"
#include "kernels/cpu/elementwise.h"

namespace thimble::kernels::THIMBLE_ISA::relu6_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

Status run(const KernelState&, const Call& call) noexcept {
  map_unary(call, [](Vec x) { return relu6(x); });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "relu6",
                           .name = "relu6",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::relu6_kernel
