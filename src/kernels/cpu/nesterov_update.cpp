// Nesterov momentum.
#include "kernels/cpu/update.h"

namespace thimble::kernels::THIMBLE_ISA::nesterov_update_kernel {
namespace {

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  return std::make_unique<UpdateState>(*find_rule("nesterov"), *q.attributes);
}

}  // namespace

extern const Kernel def = {.op = "nesterov_update",
                           .name = "nesterov_update",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .prepare = prepare,
                           .run = run_dense_update};

}  // namespace thimble::kernels::THIMBLE_ISA::nesterov_update_kernel
