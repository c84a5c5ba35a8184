// Plain gradient descent with weight decay.
#include "kernels/cpu/update.h"

namespace thimble::kernels::THIMBLE_ISA::sgd_update_kernel {
namespace {

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  return std::make_unique<UpdateState>(*find_rule("sgd"), *q.attributes);
}

}  // namespace

extern const Kernel def = {.op = "sgd_update",
                           .name = "sgd_update",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .prepare = prepare,
                           .run = run_dense_update};

}  // namespace thimble::kernels::THIMBLE_ISA::sgd_update_kernel
