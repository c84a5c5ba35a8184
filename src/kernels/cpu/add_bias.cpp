// A number for each channel added to every place.
#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA::add_bias_kernel {
namespace {

template <typename T, typename B>
void add_rows(const T* x, const B* bias, T* y, std::int64_t channels, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    each_vector(0, channels, [=](std::int64_t c, auto lanes) {
      const std::int64_t i = row * channels + c;
      store(y + i, add(load(x + i, lanes), load(bias + c, lanes)), lanes);
    });
  }
}

Status run(const KernelState&, const Call& call) noexcept {
  const Shape& shape = call.in[0].shape;
  const std::int64_t channels = shape.at(-1);
  with_element(call.in[0].dtype, [&](auto element) {
    with_element(call.in[1].dtype, [&](auto bias) {
      using T = decltype(element);
      using B = decltype(bias);
      const int threads = threads_for(shape.count(), call.threads);
      parallel_for(threads, shape.count() / channels, [&](std::int64_t begin, std::int64_t end) {
        add_rows(call.in[0].as<const T>(), call.in[1].as<const B>(), call.out[0].as<T>(), channels, begin, end);
      });
    });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "add_bias",
                           .name = "add_bias",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::add_bias_kernel
