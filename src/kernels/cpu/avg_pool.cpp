// Mean over square windows; padding counts as zeros, so the divisor is always kernel^2.
#include "kernels/cpu/pool.h"

namespace thimble::kernels::THIMBLE_ISA::avg_pool_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

template <typename T>
void pool_row(const PoolState& pool, const Call& call, std::int64_t b, std::int64_t row) {
  const Shape &in = call.in[0].shape, &out = call.out[0].shape;
  const T* x = call.in[0].as<const T>();
  T* y = call.out[0].as<T>();
  const Vec share = broadcast(1.0F / static_cast<float>(pool.kernel * pool.kernel));
  const Range rows = pool.seen_by(row, in[1]);
  for (std::int64_t column = 0; column < out[2]; ++column) {
    const Range columns = pool.seen_by(column, in[2]);
    T* to = y + offset_of(out, b, row, column);
    each_vector(0, in[3], [&](std::int64_t c, auto lanes) {
      Vec sum = zero();
      for (std::int64_t h = rows.begin; h < rows.end; ++h) {
        const T* from = x + offset_of(in, b, h, columns.begin) + c;
        for (std::int64_t w = columns.begin; w < columns.end; ++w, from += in[3]) sum = add(sum, load(from, lanes));
      }
      store(to + c, mul(sum, share), lanes);
    });
  }
}

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& pool = static_cast<const PoolState&>(base);
  const int threads = threads_for(call.in[0].shape.count(), call.threads);
  with_element(call.in[0].dtype, [&](auto element) {
    each_image_row(call.out[0].shape, threads,
                   [&](std::int64_t b, std::int64_t row) { pool_row<decltype(element)>(pool, call, b, row); });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "avg_pool",
                           .name = "avg_pool",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare_pool,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::avg_pool_kernel
