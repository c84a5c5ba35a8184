// Every channel of every sample times a number of its own.
#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA::scale_channels_kernel {
namespace {

// The rows (positions of all samples) of [begin, end), sample by sample.
template <typename T, typename S>
void scale_rows(const Shape& shape, const T* x, const S* scale, T* y, std::int64_t begin, std::int64_t end) {
  const std::int64_t positions = shape[1] * shape[2], channels = shape[3];
  for (std::int64_t row = begin; row < end;) {
    const std::int64_t sample = row / positions, stop = smaller(end, (sample + 1) * positions);
    const S* own = scale + sample * channels;
    for (; row < stop; ++row) {
      each_vector(0, channels, [=](std::int64_t c, auto lanes) {
        const std::int64_t i = row * channels + c;
        store(y + i, mul(load(x + i, lanes), load(own + c, lanes)), lanes);
      });
    }
  }
}

Status run(const KernelState&, const Call& call) noexcept {
  const Shape& shape = call.in[0].shape;
  const std::int64_t rows = shape[0] * shape[1] * shape[2];
  with_element(call.in[0].dtype, [&](auto x) {
    with_element(call.in[1].dtype, [&](auto s) {
      using T = decltype(x);
      using S = decltype(s);
      parallel_for(threads_for(shape.count(), call.threads), rows, [&](std::int64_t begin, std::int64_t end) {
        scale_rows(shape, call.in[0].as<const T>(), call.in[1].as<const S>(), call.out[0].as<T>(), begin, end);
      });
    });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "scale_channels",
                           .name = "scale_channels",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::scale_channels_kernel
