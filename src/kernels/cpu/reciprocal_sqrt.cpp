// 1 / sqrt(v + eps): rstd of running variances. A vector of channels: too small for threads.
#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA::reciprocal_sqrt_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_unstored(q); }

struct State : KernelState {
  double eps = 0;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->eps = q.attributes->number("eps");
  return state;
}

Status run(const KernelState& state, const Call& call) noexcept {
  const double eps = static_cast<const State&>(state).eps;
  const std::int64_t count = call.in[0].shape.count();
  for (std::int64_t i = 0; i < count; ++i) store(call.out[0], i, 1 / std::sqrt(load(call.in[0], i) + eps));
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "reciprocal_sqrt",
                           .name = "reciprocal_sqrt",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::reciprocal_sqrt_kernel
