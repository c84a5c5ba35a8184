// Gradient of global_avg_pool: every position of an image gets the same share of dy.
#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA::global_avg_pool_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

Status run(const KernelState&, const Call& call) noexcept {
  const Shape& x = call.out[0].shape;
  const std::int64_t positions = x[1] * x[2], channels = x[3];
  const Vec share = broadcast(1.0F / static_cast<float>(positions));
  with_element(call.in[0].dtype, [&](auto element) {
    using T = decltype(element);
    const T* dy = call.in[0].as<const T>();
    T* dx = call.out[0].as<T>();
    parallel_for(threads_for(x.count(), call.threads), x[0] * positions, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const T* from = dy + row / positions * channels;
        each_vector(0, channels, [&](std::int64_t c, auto lanes) {
          store(dx + row * channels + c, mul(load(from + c, lanes), share), lanes);
        });
      }
    });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "global_avg_pool_grad",
                           .name = "global_avg_pool_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::global_avg_pool_grad_kernel
