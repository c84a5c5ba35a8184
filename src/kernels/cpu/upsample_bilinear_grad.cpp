// Gradient of upsample_bilinear as a gather: every element collects from the places that were made of it, row by row
// and from left to right, so the sum does not depend on threads.
#include "kernels/cpu/bilinear.h"
#include "kernels/cpu/pool.h"

namespace thimble::kernels::THIMBLE_ISA::upsample_bilinear_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

struct State : KernelState {
  std::unique_ptr<Between[]> rows, columns;
  std::unique_ptr<MadeOf[]> made_of_row, made_of_column;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  const Shape &x = q.out[0].shape, &y = q.in[0].shape;
  state->rows = between_table(x[1], y[1]);
  state->columns = between_table(x[2], y[2]);
  state->made_of_row = made_of_table(state->rows.get(), x[1], y[1]);
  state->made_of_column = made_of_table(state->columns.get(), x[2], y[2]);
  return state;
}
Bytes resident(const KernelQuery& q) {
  const Shape &x = q.out[0].shape, &y = q.in[0].shape;
  return (y[1] + y[2]) * static_cast<Bytes>(sizeof(Between)) + (x[1] + x[2]) * static_cast<Bytes>(sizeof(MadeOf));
}

constexpr int kBlock = 4;  // vectors of channels that share the weights they are multiplied with

// kVectors vectors of channels of one element.
template <typename T, int kVectors, typename Lanes>
THIMBLE_INLINE void gather(const State& state, const Shape& y, const T* dy, T* to, std::int64_t h, std::int64_t w,
                           Lanes lanes) {
  Vec sums[kVectors];
  for (Vec& sum : sums) sum = zero();
  const MadeOf& rows = state.made_of_row[static_cast<std::size_t>(h)];
  const MadeOf& columns = state.made_of_column[static_cast<std::size_t>(w)];
  for (std::int64_t row = rows.first; row < rows.end; ++row) {
    const float row_share = share_of(state.rows[static_cast<std::size_t>(row)], h);
    const T* from = dy + (row * y[2] + columns.first) * y[3];
    for (std::int64_t column = columns.first; column < columns.end; ++column, from += y[3]) {
      const Vec share = broadcast(row_share * share_of(state.columns[static_cast<std::size_t>(column)], w));
      for (int k = 0; k < kVectors; ++k) sums[k] = fma(share, load(from + k * kLanes, lanes), sums[k]);
    }
  }
  for (int k = 0; k < kVectors; ++k) store(to + k * kLanes, sums[k], lanes);
}

template <typename T>
void gather_row(const State& state, const Call& call, std::int64_t b, std::int64_t h) {
  const Shape &y = call.in[0].shape, &x = call.out[0].shape;
  const T* dy = call.in[0].as<const T>() + offset_of(y, b, 0, 0);
  T* dx = call.out[0].as<T>() + offset_of(x, b, h, 0);
  for (std::int64_t w = 0; w < x[2]; ++w, dx += x[3]) {
    std::int64_t c = 0;
    for (; c + kBlock * kLanes <= x[3]; c += kBlock * kLanes)
      gather<T, kBlock>(state, y, dy + c, dx + c, h, w, AllLanes{});
    each_vector(c, x[3], [&](std::int64_t i, auto lanes) { gather<T, 1>(state, y, dy + i, dx + i, h, w, lanes); });
  }
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const int threads = threads_for(call.in[0].shape.count(), call.threads);
  with_element(call.in[0].dtype, [&](auto element) {
    each_image_row(call.out[0].shape, threads,
                   [&](std::int64_t b, std::int64_t h) { gather_row<decltype(element)>(state, call, b, h); });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "upsample_bilinear_grad",
                           .name = "upsample_bilinear_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .resident = resident,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::upsample_bilinear_grad_kernel
