// Bilinear interpolation with the channels in the lanes. Which places lie next to which is tabulated once an axis.
#include "kernels/cpu/bilinear.h"
#include "kernels/cpu/pool.h"

namespace thimble::kernels::THIMBLE_ISA::upsample_bilinear_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

struct State : KernelState {
  std::unique_ptr<Between[]> rows, columns;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->rows = between_table(q.in[0].shape[1], q.out[0].shape[1]);
  state->columns = between_table(q.in[0].shape[2], q.out[0].shape[2]);
  return state;
}
Bytes resident(const KernelQuery& q) {
  return (q.out[0].shape[1] + q.out[0].shape[2]) * static_cast<Bytes>(sizeof(Between));
}

template <typename T>
void make_row(const State& state, const Call& call, std::int64_t b, std::int64_t row) {
  const Shape &in = call.in[0].shape, &out = call.out[0].shape;
  const std::int64_t channels = in[3];
  const Between& h = state.rows[static_cast<std::size_t>(row)];
  const T* upper = call.in[0].as<const T>() + offset_of(in, b, h.low, 0);
  const T* lower = call.in[0].as<const T>() + offset_of(in, b, h.high, 0);
  T* to = call.out[0].as<T>() + offset_of(out, b, row, 0);
  for (std::int64_t column = 0; column < out[2]; ++column, to += channels) {
    const Between& w = state.columns[static_cast<std::size_t>(column)];
    const Vec upper_left = broadcast((1 - h.share) * (1 - w.share)), upper_right = broadcast((1 - h.share) * w.share);
    const Vec lower_left = broadcast(h.share * (1 - w.share)), lower_right = broadcast(h.share * w.share);
    const std::int64_t left = w.low * channels, right = w.high * channels;
    each_vector(0, channels, [&](std::int64_t c, auto lanes) {
      Vec sum = mul(upper_left, load(upper + left + c, lanes));
      sum = fma(upper_right, load(upper + right + c, lanes), sum);
      sum = fma(lower_left, load(lower + left + c, lanes), sum);
      sum = fma(lower_right, load(lower + right + c, lanes), sum);
      store(to + c, sum, lanes);
    });
  }
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const int threads = threads_for(call.out[0].shape.count(), call.threads);
  with_element(call.in[0].dtype, [&](auto element) {
    each_image_row(call.out[0].shape, threads,
                   [&](std::int64_t b, std::int64_t row) { make_row<decltype(element)>(state, call, b, row); });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "upsample_bilinear",
                           .name = "upsample_bilinear",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .resident = resident,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::upsample_bilinear_kernel
