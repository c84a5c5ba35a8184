// Heavy-ball momentum, first microbatch: the velocity gathers the gradients.
#include "kernels/cpu/update.h"

namespace thimble::kernels::THIMBLE_ISA::momentum_open_kernel {
namespace {

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  return std::make_unique<UpdateState>(*find_rule("momentum_open"), *q.attributes);
}

}  // namespace

extern const Kernel def = {.op = "momentum_open",
                           .name = "momentum_open",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .prepare = prepare,
                           .run = run_dense_update};

}  // namespace thimble::kernels::THIMBLE_ISA::momentum_open_kernel
