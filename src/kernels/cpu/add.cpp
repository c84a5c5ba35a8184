// Sum of two tensors of one shape, with an optional rectifier.
#include "kernels/cpu/activation.h"
#include "kernels/cpu/elementwise.h"

namespace thimble::kernels::THIMBLE_ISA::add_kernel {
namespace {

std::string refuse(const KernelQuery& q) {
  if (kRoundsAtOnce && q.out[0].dtype != DType::bf16) return "is for what is rounded to bf16";
  return refuse_mixed(q, 2);
}

struct State : KernelState {
  Activation activation = Activation::none;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->activation = activation_of(q);
  return state;
}

Status run(const KernelState& state, const Call& call) noexcept {
  with_activation(static_cast<const State&>(state).activation,
                  [&](auto known) { map_binary(call, [=](Vec a, Vec b) { return activate(known, add(a, b)); }); });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "add",
                           .name = "add",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::add_kernel
