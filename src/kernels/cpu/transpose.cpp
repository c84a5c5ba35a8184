// Two axes change places. The tensor is seen as (outer, rows, middle, columns, inner): where inner is one, matrices are
// transposed tile by tile; else runs of inner elements are copied.
#include "kernels/cpu/move.h"

namespace thimble::kernels::THIMBLE_ISA::transpose_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

struct State : KernelState {
  std::int64_t outer = 1, rows = 1, middle = 1, columns = 1, inner = 1;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  const Shape& x = q.in[0].shape;
  const int a = axis_of(q, "axis0"), b = axis_of(q, "axis1");
  const int first = a < b ? a : b, second = a < b ? b : a;
  state->outer = count_before(x, first);
  if (first == second) {
    state->inner = x.count() / state->outer;
    return state;
  }
  state->rows = x[first];
  state->columns = x[second];
  state->middle = count_before(x, second) / count_before(x, first + 1);
  state->inner = x.count() / count_before(x, second + 1);
  return state;
}

// Pieces of kLanes columns of every matrix: a piece writes whole rows of the output.
template <typename T>
void transpose_matrices(const State& s, const Call& call, int threads) {
  const T* from = call.in[0].as<const T>();
  T* to = call.out[0].as<T>();
  const std::int64_t pieces = (s.columns + kLanes - 1) / kLanes;
  parallel_for(threads, s.outer * s.middle * pieces, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const std::int64_t piece = n % pieces, m = n / pieces % s.middle, o = n / pieces / s.middle;
      const std::int64_t sample = o * s.rows * s.middle * s.columns;
      transpose_matrix(from + sample + m * s.columns, s.middle * s.columns, to + sample + m * s.rows, s.middle * s.rows,
                       s.rows, {piece * kLanes, smaller((piece + 1) * kLanes, s.columns)});
    }
  });
}

void move_runs(const State& s, const Call& call, int threads) {
  const Bytes run = s.inner * bytes_of(call.out[0].dtype);
  const auto* from = call.in[0].as<const std::byte>();
  auto* to = call.out[0].as<std::byte>();
  parallel_for(threads, s.outer * s.columns * s.middle, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {  // (outer, columns, middle) of the output
      const std::int64_t m = n % s.middle, column = n / s.middle % s.columns, o = n / s.middle / s.columns;
      for (std::int64_t row = 0; row < s.rows; ++row) {
        const std::int64_t place = ((o * s.rows + row) * s.middle + m) * s.columns + column;
        copy_bytes(to + (n * s.rows + row) * run, from + place * run, run);
      }
    }
  });
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const int threads = threads_for(call.out[0].shape.count(), call.threads);
  if (state.inner > 1) {
    move_runs(state, call, threads);
  } else {
    with_element(call.out[0].dtype, [&](auto element) { transpose_matrices<decltype(element)>(state, call, threads); });
  }
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "transpose",
                           .name = "transpose",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::transpose_kernel
