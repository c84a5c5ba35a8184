// Zeros before and after every run of an axis. Bytes of zero are zeros in every dtype.
#include "kernels/cpu/move.h"

namespace thimble::kernels::THIMBLE_ISA::pad_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

struct State : KernelState {
  std::int64_t rows = 0;
  Bytes before = 0, piece = 0, after = 0;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  const int axis = axis_of(q, "axis");
  state->rows = count_before(q.in[0].shape, axis);
  state->piece = q.in[0].bytes() / state->rows;
  const Bytes step = state->piece / q.in[0].shape[axis];
  state->before = step * q.attributes->integer("before");
  state->after = step * q.attributes->integer("after");
  return state;
}

void clear_bytes(std::byte* to, Bytes bytes) { std::memset(to, 0, static_cast<std::size_t>(bytes)); }

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const int threads = threads_for(call.out[0].shape.count(), call.threads);
  parallel_for(threads, state.rows, [&](std::int64_t begin, std::int64_t end) {
    const auto* from = call.in[0].as<const std::byte>() + begin * state.piece;
    auto* to = call.out[0].as<std::byte>() + begin * (state.before + state.piece + state.after);
    for (std::int64_t row = begin; row < end; ++row) {
      clear_bytes(to, state.before);
      to += state.before;
      copy_bytes(to, from, state.piece);
      to += state.piece;
      from += state.piece;
      clear_bytes(to, state.after);
      to += state.after;
    }
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "pad",
                           .name = "pad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::pad_kernel
