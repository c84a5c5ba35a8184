// Mean and rstd of every sample and group: the first pass of group_norm, alone.
#include "kernels/cpu/group_norm.h"

namespace thimble::kernels::THIMBLE_ISA::group_moments_kernel {
namespace {

struct State : KernelState {
  std::int64_t groups = 1;
  double eps = 0;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->groups = q.attributes->integer("groups");
  state->eps = q.attributes->number("eps");
  return state;
}

Bytes workspace(const KernelQuery& q) {
  Carver carver;
  GroupMomentSpace::carve(carver, group_plan(q.in[0].shape, q.attributes->integer("groups"), q.threads));
  return carver.used();
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const GroupPlan plan = group_plan(call.in[0].shape, state.groups, call.threads);
  Carver carver(call.workspace);
  const GroupMomentSpace space = GroupMomentSpace::carve(carver, plan);
  group_moments(plan, call.in[0], state.eps, space, call.out[0], call.out[1], [](std::int64_t, int) {});
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "group_moments",
                           .name = "group_moments",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_norm,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::group_moments_kernel
