// Maximum over square windows, with the number of the tap that won. The first of equals wins, and the first NaN over
// every number.
#include "kernels/cpu/pool.h"

namespace thimble::kernels::THIMBLE_ISA::max_pool_kernel {
namespace {

std::string refuse(const KernelQuery& q) { return refuse_mixed(q, 1); }

// Tap numbers ride along as f32, which holds them exactly.
struct Winner {
  Vec value, tap;
};

THIMBLE_INLINE void challenge(Winner& best, Vec x, float tap) {
  best.tap = where_beats(x, best.value, broadcast(tap), best.tap);
  best.value = where_beats(x, best.value, x, best.value);
}
THIMBLE_INLINE void store_taps(std::uint8_t* p, Vec taps, AllLanes) { store_bytes(p, taps); }
THIMBLE_INLINE void store_taps(std::uint8_t* p, Vec taps, FirstLanes lanes) {
  std::uint8_t part[kLanes];
  store_bytes(part, taps);
  for (int i = 0; i < lanes.count; ++i) p[i] = part[i];
}

template <typename T>
void pool_row(const PoolState& pool, const Call& call, std::int64_t b, std::int64_t row) {
  const Shape &in = call.in[0].shape, &out = call.out[0].shape;
  const std::int64_t channels = in[3], width = in[2], out_width = out[2];
  const Range rows = pool.seen_by(row, in[1]);
  const T* x = call.in[0].as<const T>() + offset_of(in, b, rows.begin, 0);
  T* y = call.out[0].as<T>() + offset_of(out, b, row, 0);
  std::uint8_t* taps = call.out[1].as<std::uint8_t>() + offset_of(out, b, row, 0);
  const auto kernel = static_cast<float>(pool.kernel);
  for (std::int64_t column = 0; column < out_width; ++column, y += channels, taps += channels) {
    const Range columns = pool.seen_by(column, width);
    const auto first_tap = static_cast<float>((rows.begin - row * pool.stride + pool.padding) * pool.kernel +
                                              columns.begin - column * pool.stride + pool.padding);
    each_vector(0, channels, [&](std::int64_t c, auto lanes) {
      const T* at = x + columns.begin * channels + c;
      Winner best{load(at, lanes), broadcast(first_tap)};
      float row_tap = first_tap;
      for (std::int64_t h = rows.begin; h < rows.end; ++h, at += width * channels, row_tap += kernel) {
        const T* tap_at = at;
        float tap = row_tap;
        for (std::int64_t w = columns.begin; w < columns.end; ++w, tap_at += channels, ++tap)
          challenge(best, load(tap_at, lanes), tap);
      }
      store_bits(y + c, best.value, lanes);
      store_taps(taps + c, best.tap, lanes);
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

extern const Kernel def = {.op = "max_pool",
                           .name = "max_pool",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare_pool,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::max_pool_kernel
