// Mean and rstd of every channel: the first pass of batch_norm, alone.
#include "kernels/cpu/batch_norm.h"

namespace thimble::kernels::THIMBLE_ISA::batch_moments_kernel {
namespace {

struct State : KernelState {
  double eps = 0;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->eps = q.attributes->number("eps");
  return state;
}

Bytes workspace(const KernelQuery& q) {
  Carver carver;
  const Matrix m = matrix_of(q.in[0].shape);
  BatchMomentSpace::carve(carver, m, threads_for(m.count(), q.threads));
  return carver.used();
}

Status run(const KernelState& state, const Call& call) noexcept {
  const TensorView& x = call.in[0];
  const Matrix m = matrix_of(x.shape);
  const int threads = threads_for(m.count(), call.threads);
  Carver carver(call.workspace);
  const BatchMomentSpace space = BatchMomentSpace::carve(carver, m, threads);
  batch_moments(m, x, static_cast<const State&>(state).eps, threads, space, call.out[0], call.out[1]);
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "batch_moments",
                           .name = "batch_moments",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_norm,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::batch_moments_kernel
