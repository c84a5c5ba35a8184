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

#if defined(THIMBLE_ISA_AVX512)
THIMBLE_INLINE void challenge(Winner& best, Vec x, float tap) {
  const __mmask16 beats = _mm512_cmp_ps_mask(x.v, best.value.v, _CMP_NLE_UQ);
  const __mmask16 wins = _mm512_mask_cmp_ps_mask(beats, best.value.v, best.value.v, _CMP_ORD_Q);
  best.value.v = _mm512_mask_mov_ps(best.value.v, wins, x.v);
  best.tap.v = _mm512_mask_mov_ps(best.tap.v, wins, _mm512_set1_ps(tap));
}
THIMBLE_INLINE void store_taps(std::uint8_t* p, Vec taps) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(taps.v)));
}
#else
THIMBLE_INLINE void challenge(Winner& best, Vec x, float tap) {
  const __m256 beats = _mm256_cmp_ps(x.v, best.value.v, _CMP_NLE_UQ);
  const __m256 wins = _mm256_and_ps(beats, _mm256_cmp_ps(best.value.v, best.value.v, _CMP_ORD_Q));
  best.value.v = _mm256_blendv_ps(best.value.v, x.v, wins);
  best.tap.v = _mm256_blendv_ps(best.tap.v, _mm256_set1_ps(tap), wins);
}
THIMBLE_INLINE void store_taps(std::uint8_t* p, Vec taps) {
  const __m256i words = _mm256_cvttps_epi32(taps.v);
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(halves, halves));
}
#endif
THIMBLE_INLINE void store_taps(std::uint8_t* p, Vec taps, AllLanes) { store_taps(p, taps); }
THIMBLE_INLINE void store_taps(std::uint8_t* p, Vec taps, FirstLanes lanes) {
  std::uint8_t part[kLanes];
  store_taps(part, taps);
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
