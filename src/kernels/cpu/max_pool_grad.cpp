// Gradient of max_pool as a gather: an element takes dy from the windows whose winning tap it was.
#include "kernels/cpu/pool.h"

namespace thimble::kernels::THIMBLE_ISA::max_pool_grad_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

// `a` where the byte is `tap`, else zero.
THIMBLE_INLINE Vec where_tap(const std::uint8_t* index, int tap, Vec a, AllLanes) { return where_byte(index, tap, a); }
THIMBLE_INLINE Vec where_tap(const std::uint8_t* index, int tap, Vec a, FirstLanes lanes) {
  std::uint8_t part[kLanes] = {};
  for (int i = 0; i < lanes.count; ++i) part[i] = index[i];
  return where_byte(part, tap, a);
}

template <typename T>
void gather_row(const PoolState& pool, const Call& call, std::int64_t b, std::int64_t h) {
  const Shape &windows = call.in[0].shape, &out = call.out[0].shape;
  const std::int64_t channels = out[3], width = out[2], row_step = windows[2] * channels;
  const Range rows = pool.windows_of(h, windows[1]);
  const std::int64_t first_row = offset_of(windows, b, rows.begin, 0);
  const T* dy = call.in[0].as<const T>();
  const auto* index = call.in[1].as<const std::uint8_t>();
  T* to = call.out[0].as<T>() + offset_of(out, b, h, 0);
  const auto stride = static_cast<int>(pool.stride), kernel = static_cast<int>(pool.kernel);
  for (std::int64_t w = 0; w < width; ++w, to += channels) {
    const Range columns = pool.windows_of(w, windows[2]);
    const auto first_tap = static_cast<int>((h - rows.begin * pool.stride + pool.padding) * pool.kernel + w -
                                            columns.begin * pool.stride + pool.padding);
    const std::int64_t first = first_row + columns.begin * channels;
    each_vector(0, channels, [&](std::int64_t c, auto lanes) {
      Vec sum = zero();
      std::int64_t row_from = first + c;
      int row_tap = first_tap;
      for (std::int64_t row = rows.begin; row < rows.end; ++row, row_from += row_step, row_tap -= stride * kernel) {
        std::int64_t from = row_from;
        int tap = row_tap;
        for (std::int64_t column = columns.begin; column < columns.end; ++column, from += channels, tap -= stride)
          sum = add(sum, where_tap(index + from, tap, load(dy + from, lanes), lanes));
      }
      store(to + c, sum, lanes);
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

extern const Kernel def = {.op = "max_pool_grad",
                           .name = "max_pool_grad",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare_pool,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::max_pool_grad_kernel
