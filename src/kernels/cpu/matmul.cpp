// Product of two matrices, either of which may be read transposed.
#include "kernels/cpu/matrix_product.h"

namespace thimble::kernels::THIMBLE_ISA::matmul_kernel {
namespace {

void plan_of(ProductPlan& plan, const KernelQuery& q) {
  plan.transpose_a = q.attributes->integer("transpose_a") != 0;
  plan.transpose_b = q.attributes->integer("transpose_b") != 0;
  plan_product(plan, q.in[0], q.in[1]);
}

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto plan = std::make_unique<ProductPlan>();
  plan_of(*plan, q);
  return plan;
}

Bytes workspace(const KernelQuery& q) {
  ProductPlan plan;
  plan_of(plan, q);
  return plan.workspace(q.threads);
}

Status run(const KernelState& state, const Call& call) noexcept {
  run_product(static_cast<const ProductPlan&>(state), call, {});
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "matmul",
                           .name = "matmul",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::matmul_kernel
