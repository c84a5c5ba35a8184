// Gradient of avg_pool as a gather: every element collects its share of the windows that saw it.
#include "kernels/cpu/pool.h"

namespace thimble::kernels::THIMBLE_ISA::avg_pool_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

template <typename T>
void gather_row(const PoolState& pool, const Call& call, std::int64_t b, std::int64_t h) {
  const Shape &windows = call.in[0].shape, &out = call.out[0].shape;
  const T* dy = call.in[0].as<const T>();
  T* dx = call.out[0].as<T>();
  const Vec share = broadcast(1.0F / static_cast<float>(pool.kernel * pool.kernel));
  const Range rows = pool.windows_of(h, windows[1]);
  for (std::int64_t w = 0; w < out[2]; ++w) {
    const Range columns = pool.windows_of(w, windows[2]);
    T* to = dx + offset_of(out, b, h, w);
    each_vector(0, out[3], [&](std::int64_t c, auto lanes) {
      Vec sum = zero();
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        const T* from = dy + offset_of(windows, b, row, columns.begin) + c;
        for (std::int64_t k = columns.begin; k < columns.end; ++k, from += out[3]) sum = add(sum, load(from, lanes));
      }
      store(to + c, mul(sum, share), lanes);
    });
  }
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& pool = static_cast<const PoolState&>(base);
  const int threads = threads_for(call.out[0].shape.count(), call.threads);
  with_element(call.in[0].dtype, [&](auto element) {
    each_image_row(call.out[0].shape, threads,
                   [&](std::int64_t b, std::int64_t h) { gather_row<decltype(element)>(pool, call, b, h); });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "avg_pool_grad",
                           .name = "avg_pool_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare_pool,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::avg_pool_grad_kernel
