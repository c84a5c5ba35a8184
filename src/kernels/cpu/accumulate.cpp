// Sum over microbatches.
#include "kernels/cpu/update.h"

namespace thimble::kernels::THIMBLE_ISA::accumulate_kernel {
namespace {

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  return std::make_unique<UpdateState>(kAccumulate, *q.attributes);
}

}  // namespace

extern const Kernel def = {.op = "accumulate",
                           .name = "accumulate",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .prepare = prepare,
                           .run = run_dense_update};

}  // namespace thimble::kernels::THIMBLE_ISA::accumulate_kernel
