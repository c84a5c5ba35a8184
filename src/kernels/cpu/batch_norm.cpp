// Batch norm with an optional rectifier: one pass for the statistics, one that normalizes.
#include "kernels/cpu/batch_norm.h"

namespace thimble::kernels::THIMBLE_ISA::batch_norm_kernel {
namespace {

struct State : KernelState {
  double eps = 0;
  Activation activation = Activation::none;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->eps = q.attributes->number("eps");
  state->activation = activation_of(q);
  return state;
}

struct Space {
  Matrix matrix;
  int threads = 1;
  BatchMomentSpace moments;
  Coefficients coefficients;
};
Space carve(Carver& carver, const Shape& shape, int threads) {
  const Matrix m = matrix_of(shape);
  const int used = threads_for(m.count(), threads);
  return {m, used, BatchMomentSpace::carve(carver, m, used), Coefficients::carve(carver, m)};
}

Bytes workspace(const KernelQuery& q) {
  Carver carver;
  carve(carver, q.in[0].shape, q.threads);
  return carver.used();
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const TensorView &x = call.in[0], &mean = call.out[1], &rstd = call.out[2];
  Carver carver(call.workspace);
  const Space space = carve(carver, x.shape, call.threads);
  batch_moments(space.matrix, x, state.eps, space.threads, space.moments, mean, rstd);
  fill_coefficients(space.matrix, {mean, rstd}, call.in[1], call.in[2], space.coefficients);
  normalize_batch(space.matrix, {x, call.out[0], state.activation}, space.threads, space.coefficients);
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "batch_norm",
                           .name = "batch_norm",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_norm,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::batch_norm_kernel
