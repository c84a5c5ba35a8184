// Running statistics of a batch norm, from the rstd and mean that its forward pass left. In double: 1/rstd^2 - eps
// cancels.
#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA::update_running_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_unstored(q); }

struct State : KernelState {
  double momentum = 0, eps = 0;
  double unbias = 1;  // count / (count - 1)
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->momentum = q.attributes->number("momentum");
  state->eps = q.attributes->number("eps");
  const auto count = static_cast<double>(q.attributes->integer("count"));
  state->unbias = count > 1 ? count / (count - 1) : 1;
  return state;
}

// r' = (1 - momentum) * r + momentum * new;  new variance = (1 / rstd^2 - eps) * count / (count - 1)
Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const std::int64_t channels = call.in[0].shape.count();
  for (std::int64_t c = 0; c < channels; ++c) {
    const double rstd = load(call.in[3], c);
    const double biased = 1 / (rstd * rstd) - state.eps;
    const double variance = biased > 0 ? biased * state.unbias : 0;  // rounding of rstd may carry zero below zero
    const double mean = load(call.in[2], c);
    store(call.out[0], c, (1 - state.momentum) * load(call.in[0], c) + state.momentum * mean);
    store(call.out[1], c, (1 - state.momentum) * load(call.in[1], c) + state.momentum * variance);
  }
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "update_running",
                           .name = "update_running",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::update_running_kernel
