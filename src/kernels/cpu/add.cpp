// Sum of two tensors of one shape, with an optional rectifier.
#include "kernels/cpu/elementwise.h"

namespace thimble::kernels::THIMBLE_ISA::add_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 2); }

struct State : KernelState {
  bool rectifies = false;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->rectifies = q.attributes->word("activation") == "relu";
  return state;
}

Status run(const KernelState& state, const Call& call) noexcept {
  if (static_cast<const State&>(state).rectifies) {
    map_binary(call, [](Vec a, Vec b) { return relu(add(a, b)); });
  } else {
    map_binary(call, [](Vec a, Vec b) { return add(a, b); });
  }
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
