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
  const T* x = call.in[0].as<const T>();
  const Range rows = pool.seen_by(row, in[1]);
  for (std::int64_t column = 0; column < out[2]; ++column) {
    const Range columns = pool.seen_by(column, in[2]);
    const std::int64_t to = offset_of(out, b, row, column);
    const auto tap_of = [&](std::int64_t h, std::int64_t w) {
      return static_cast<float>((h - row * pool.stride + pool.padding) * pool.kernel + w - column * pool.stride +
                                pool.padding);
    };
    each_vector(0, in[3], [&](std::int64_t c, auto lanes) {
      Winner best{load(x + offset_of(in, b, rows.begin, columns.begin) + c, lanes),
                  broadcast(tap_of(rows.begin, columns.begin))};
      for (std::int64_t h = rows.begin; h < rows.end; ++h) {
        for (std::int64_t w = columns.begin; w < columns.end; ++w) {
          challenge(best, load(x + offset_of(in, b, h, w) + c, lanes), tap_of(h, w));
        }
      }
      store(call.out[0].as<T>() + to + c, best.value, lanes);
      store_taps(call.out[1].as<std::uint8_t>() + to + c, best.tap, lanes);
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
