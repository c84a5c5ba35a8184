// Inputs side by side: for every run of the axis a copy from each.
#include "kernels/cpu/move.h"

namespace thimble::kernels::THIMBLE_ISA::concat_kernel {
namespace {

constexpr std::size_t kMostInputs = 64;

std::string refuse(const KernelQuery& q) {
  if (q.in.size() > kMostInputs) return "serves at most 64 inputs";
  return refuse_mixed(q, q.in.size());
}

struct State : KernelState {
  std::int64_t rows = 0;
  Bytes runs[kMostInputs] = {};  // of each input, along the axis and all that lies behind it
  Bytes whole_run = 0;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->rows = count_before(q.out[0].shape, axis_of(q, "axis"));
  for (std::size_t k = 0; k < q.in.size(); ++k) state->runs[k] = q.in[k].bytes() / state->rows;
  state->whole_run = q.out[0].bytes() / state->rows;
  return state;
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  bool streams = true;
  for (std::size_t k = 0; k < call.in.size(); ++k) streams = streams && streams_pieces(call.out[0], state.runs[k]);
  const int threads = threads_for(call.out[0].shape.count(), call.threads);
  parallel_for(threads, state.rows, [&](std::int64_t begin, std::int64_t end) {
    auto* to = call.out[0].as<std::byte>() + begin * state.whole_run;
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::size_t k = 0; k < call.in.size(); ++k) {
        const Bytes bytes = state.runs[k];
        move_bytes(to, call.in[k].as<const std::byte>() + row * bytes, bytes, streams);
        to += bytes;
      }
    }
    if (streams) end_streams();
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "concat",
                           .name = "concat",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::concat_kernel
