// Heavy-ball momentum, last microbatch: the step is taken.
#include "kernels/cpu/update.h"

namespace thimble::kernels::THIMBLE_ISA::momentum_close_kernel {
namespace {

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  return std::make_unique<UpdateState>(*find_rule("momentum_close"), *q.attributes);
}

}  // namespace

extern const Kernel def = {.op = "momentum_close",
                           .name = "momentum_close",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .prepare = prepare,
                           .run = run_dense_update};

}  // namespace thimble::kernels::THIMBLE_ISA::momentum_close_kernel
