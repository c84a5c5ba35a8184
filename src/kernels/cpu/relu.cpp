// Elementwise rectifier for f32 and bf16.
#include "kernels/cpu/elementwise.h"

namespace thimble::kernels::THIMBLE_ISA::relu_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

Status run(const KernelState&, const Call& call) noexcept {
  map_unary(call, [](Vec x) { return relu(x); });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "relu",
                           .name = "relu",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::relu_kernel
