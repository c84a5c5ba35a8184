// Normalization by given statistics: the second pass of batch_norm (groups = 0) or group_norm, alone.
#include "kernels/cpu/batch_norm.h"
#include "kernels/cpu/group_norm.h"

namespace thimble::kernels::THIMBLE_ISA::normalize_kernel {
namespace {

struct State : KernelState {
  std::int64_t groups = 0;
  Activation activation = Activation::none;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->groups = q.attributes->integer("groups");
  state->activation = activation_of(q);
  return state;
}

Bytes workspace(const KernelQuery& q) {
  Carver carver;
  const std::int64_t groups = q.attributes->integer("groups");
  if (groups == 0) {
    Coefficients::carve(carver, matrix_of(q.in[0].shape));
  } else {
    carve_coefficients(carver, group_plan(q.in[0].shape, groups, q.threads));
  }
  return carver.used();
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const TensorView &x = call.in[0], &mean = call.in[1], &rstd = call.in[2];
  const Normalized what = {x, call.out[0], state.activation, call.in.size() > 5 ? &call.in[5] : nullptr};
  Carver carver(call.workspace);
  if (state.groups == 0) {
    const Matrix m = matrix_of(x.shape);
    const Coefficients coefficients = Coefficients::carve(carver, m);
    fill_coefficients(m, {mean, rstd}, call.in[3], call.in[4], coefficients);
    normalize_batch(m, what, threads_for(m.count(), call.threads), coefficients);
    return Status::good;
  }
  const GroupPlan plan = group_plan(x.shape, state.groups, call.threads);
  const Coefficients* scratch = carve_coefficients(carver, plan);
  each_item(plan, [&](std::int64_t item, int thread) {
    normalize_item(plan, item, what, mean, rstd, call.in[3], call.in[4], scratch[thread]);
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "normalize",
                           .name = "normalize",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_norm,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::normalize_kernel
