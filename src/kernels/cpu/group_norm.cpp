// Group norm with an optional rectifier; a sample is normalized while it is still in the cache.
#include "kernels/cpu/group_norm.h"

namespace thimble::kernels::THIMBLE_ISA::group_norm_kernel {
namespace {

struct State : KernelState {
  std::int64_t groups = 1;
  double eps = 0;
  Activation activation = Activation::none;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->groups = q.attributes->integer("groups");
  state->eps = q.attributes->number("eps");
  state->activation = activation_of(q);
  return state;
}

Bytes workspace(const KernelQuery& q) {
  Carver carver;
  const GroupPlan plan = group_plan(q.in[0].shape, q.attributes->integer("groups"), q.threads);
  GroupMomentSpace::carve(carver, plan);
  carve_coefficients(carver, plan);
  return carver.used();
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const TensorView &x = call.in[0], &mean = call.out[1], &rstd = call.out[2];
  const GroupPlan plan = group_plan(x.shape, state.groups, call.threads);
  Carver carver(call.workspace);
  const GroupMomentSpace space = GroupMomentSpace::carve(carver, plan);
  const Coefficients* scratch = carve_coefficients(carver, plan);
  group_moments(plan, x, state.eps, space, mean, rstd, [&](std::int64_t item, int thread) {
    normalize_item(plan, item, {x, call.out[0], state.activation}, mean, rstd, call.in[1], call.in[2], scratch[thread]);
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "group_norm",
                           .name = "group_norm",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_norm,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::group_norm_kernel
