// The channels of every place are a small matrix, one row a group, that is transposed.
#include "kernels/cpu/move.h"

namespace thimble::kernels::THIMBLE_ISA::channel_shuffle_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

struct State : KernelState {
  std::int64_t groups = 1, each = 1;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->groups = q.attributes->integer("groups");
  state->each = q.in[0].shape.at(-1) / state->groups;
  return state;
}

// Few rows, many columns; and few columns, many rows. With a constant for the few the compiler makes shuffles of the
// inner loop, where square tiles would be mostly empty.
template <int kRows, typename T>
void transpose_flat(const T* __restrict from, T* __restrict to, std::int64_t columns) {
  for (std::int64_t j = 0; j < columns; ++j) {
    for (int i = 0; i < kRows; ++i) to[j * kRows + i] = from[i * columns + j];
  }
}
template <int kColumns, typename T>
void transpose_tall(const T* __restrict from, T* __restrict to, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (int j = 0; j < kColumns; ++j) to[j * rows + i] = from[i * kColumns + j];
  }
}

template <typename T>
void shuffle_place(const State& state, const T* from, T* to) {
  const std::int64_t groups = state.groups, each = state.each;
  if (groups == 2) return transpose_flat<2>(from, to, each);
  if (groups == 3) return transpose_flat<3>(from, to, each);
  if (groups == 4) return transpose_flat<4>(from, to, each);
  if (each == 2) return transpose_tall<2>(from, to, groups);
  if (each == 3) return transpose_tall<3>(from, to, groups);
  if (each == 4) return transpose_tall<4>(from, to, groups);
  transpose_matrix(from, each, to, groups, groups, {0, each});
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const std::int64_t count = call.out[0].shape.count(), channels = call.out[0].shape.at(-1);
  with_element(call.out[0].dtype, [&](auto element) {
    using T = decltype(element);
    const T* from = call.in[0].as<const T>();
    T* to = call.out[0].as<T>();
    parallel_for(threads_for(count, call.threads), count / channels, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t place = begin; place < end; ++place)
        shuffle_place(state, from + place * channels, to + place * channels);
    });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "channel_shuffle",
                           .name = "channel_shuffle",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::channel_shuffle_kernel
