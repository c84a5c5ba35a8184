// Product of two tensors of one shape.
#include "kernels/cpu/elementwise.h"

namespace thimble::kernels::THIMBLE_ISA::multiply_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 2); }

Status run(const KernelState&, const Call& call) noexcept {
  map_binary(call, [](Vec a, Vec b) { return mul(a, b); });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "multiply",
                           .name = "multiply",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::multiply_kernel
