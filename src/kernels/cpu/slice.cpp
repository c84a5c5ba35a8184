// A range of an axis: of every run one piece is copied.
#include "kernels/cpu/move.h"

namespace thimble::kernels::THIMBLE_ISA::slice_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

struct State : KernelState {
  std::int64_t rows = 0;
  Bytes whole_run = 0, skipped = 0, piece = 0;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  const int axis = axis_of(q, "axis");
  state->rows = count_before(q.in[0].shape, axis);
  state->whole_run = q.in[0].bytes() / state->rows;
  state->skipped = state->whole_run / q.in[0].shape[axis] * q.attributes->integer("begin");
  state->piece = q.out[0].bytes() / state->rows;
  return state;
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const auto* from = call.in[0].as<const std::byte>() + state.skipped;
  auto* to = call.out[0].as<std::byte>();
  const bool streams = streams_pieces(call.out[0], state.piece);
  const int threads = threads_for(call.out[0].shape.count(), call.threads);
  parallel_for(threads, state.rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      move_bytes(to + row * state.piece, from + row * state.whole_run, state.piece, streams);
    if (streams) end_streams();
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "slice",
                           .name = "slice",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::slice_kernel
