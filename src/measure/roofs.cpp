#include "measure/roofs.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "base/matrix_registers.h"
#include "base/parallel.h"
#include "measure/machine.h"
#include "run/arena.h"
#include "run/meter.h"

namespace thimble {
namespace {

// The best of some rounds: whatever else the machine does only takes away. Rounds are counted, never timed out.
constexpr int kRounds = 8;
constexpr int kChains = 12;  // independent sums: enough to hide the latency, few enough for sixteen registers
constexpr std::int64_t kTurns = 1'000'000;
// An array is this many times as large as the last-level cache: what the cache holds of it is read at the cache's
// speed, which more than doubled what an array of twice its size seemed to get from memory.
constexpr Bytes kTimesCache = 8;
constexpr Bytes kLeastArray = 256 * kMiB;
constexpr Bytes kShareOfMemory = 8;  // an array is no larger than this part of it

// Runs sums through registers alone and returns one of them.
struct Arithmetic {
  float (*run)(std::int64_t turns, float factor, float term);
  double flops_per_chain;  // of one instruction
};

template <typename Body>
double best_seconds(Body body) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point begin = Clock::now();
    body();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (round == 0 || seconds < best) best = seconds;
  }
  return best;
}

#if defined(__x86_64__)

__attribute__((target("avx512f"))) float multiply_add_avx512(std::int64_t turns, float factor, float term) {
  const __m512 a = _mm512_set1_ps(factor), b = _mm512_set1_ps(term);
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = b;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = _mm512_fmadd_ps(sums[chain], a, b);
  }
  float result = 0;
  for (const __m512& sum : sums) result += _mm512_cvtss_f32(sum);
  return result;
}

__attribute__((target("avx512f,avx512bf16"))) float dot_bf16(std::int64_t turns, float factor, float term) {
  const __m512 both = _mm512_set1_ps(factor);
  const __m512bh a = _mm512_cvtne2ps_pbh(both, both);
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = _mm512_set1_ps(term);
  for (std::int64_t turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = _mm512_dpbf16_ps(sums[chain], a, a);
  }
  float result = 0;
  for (const __m512& sum : sums) result += _mm512_cvtss_f32(sum);
  return result;
}

// Four sums in turn, as kernels hold them.
float multiply_matrices(std::int64_t turns, float factor, float term) {
  const MatrixShapes shapes = {.row_bytes = {64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16}};
  alignas(64) float block[16][16];
  for (auto& row : block) std::fill_n(row, 16, factor);  // the upper half of each is a bf16, the lower zero
  asm volatile(
      "ldtilecfg %0\n\t"
      "tileloadd (%1,%2,1), %%tmm4\n\t"
      "tileloadd (%1,%2,1), %%tmm5\n\t"
      "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\ttilezero %%tmm3" ::"m"(shapes),
      "r"(block), "r"(64L)
      : "memory");
  static_assert(kChains == 12);
  for (std::int64_t turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 3
    for (int chain = 0; chain < kChains; chain += 4) {
      asm volatile(
          "tdpbf16ps %tmm5, %tmm4, %tmm0\n\ttdpbf16ps %tmm5, %tmm4, %tmm1\n\t"
          "tdpbf16ps %tmm5, %tmm4, %tmm2\n\ttdpbf16ps %tmm5, %tmm4, %tmm3");
    }
  }
  asm volatile("tilestored %%tmm0, (%0,%1,1)\n\ttilerelease" ::"r"(block), "r"(64L) : "memory");
  return block[0][0] + term;
}

__attribute__((target("avx2,fma"))) float multiply_add_avx2(std::int64_t turns, float factor, float term) {
  const __m256 a = _mm256_set1_ps(factor), b = _mm256_set1_ps(term);
  __m256 sums[kChains];
  for (__m256& sum : sums) sum = b;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = _mm256_fmadd_ps(sums[chain], a, b);
  }
  float result = 0;
  for (const __m256& sum : sums) result += _mm256_cvtss_f32(sum);
  return result;
}

float multiply_add_generic(std::int64_t turns, float factor, float term) {
  const __m128 a = _mm_set1_ps(factor), b = _mm_set1_ps(term);
  __m128 sums[kChains];
  for (__m128& sum : sums) sum = b;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = _mm_add_ps(_mm_mul_ps(sums[chain], a), b);
  }
  float result = 0;
  for (const __m128& sum : sums) result += _mm_cvtss_f32(sum);
  return result;
}

Arithmetic multiply_add_for(Isa isa) {
  switch (isa) {
    case Isa::avx512:
    case Isa::avx512_bf16:
    case Isa::amx_bf16: return {multiply_add_avx512, 2 * 16};
    case Isa::avx2: return {multiply_add_avx2, 2 * 8};
    case Isa::generic:
    case Isa::neon: break;
  }
  return {multiply_add_generic, 2 * 4};
}

std::optional<Arithmetic> bf16_for(Isa isa) {
  if (!includes(isa, Isa::avx512_bf16)) return std::nullopt;
  return Arithmetic{dot_bf16, 2 * 32};
}

std::optional<Arithmetic> matrices_for(Isa isa) {
  if (isa != Isa::amx_bf16) return std::nullopt;
  return Arithmetic{multiply_matrices, 2.0 * 16 * 16 * 32};
}

// Past the cache: no line is read only to be written over.
void scale_streaming(float* out, const float* in, std::int64_t count, float factor) {
  const __m128 a = _mm_set1_ps(factor);
  for (std::int64_t i = 0; i < count; i += 4) _mm_stream_ps(out + i, _mm_mul_ps(a, _mm_load_ps(in + i)));
  _mm_sfence();
}

#else

float multiply_add_generic(std::int64_t turns, float factor, float term) {
  float sums[kChains];
  for (float& sum : sums) sum = term;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    for (float& sum : sums) sum = sum * factor + term;
  }
  float result = 0;
  for (const float sum : sums) result += sum;
  return result;
}

#if defined(__aarch64__)
float multiply_add_neon(std::int64_t turns, float factor, float term) {
  const float32x4_t a = vdupq_n_f32(factor), b = vdupq_n_f32(term);
  float32x4_t sums[kChains];
  for (float32x4_t& sum : sums) sum = b;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = vfmaq_f32(b, sums[chain], a);
  }
  float result = 0;
  for (const float32x4_t& sum : sums) result += vgetq_lane_f32(sum, 0);
  return result;
}

Arithmetic multiply_add_for(Isa isa) {
  if (isa == Isa::neon) return {multiply_add_neon, 2 * 4};
  return {multiply_add_generic, 2};
}
#else
Arithmetic multiply_add_for(Isa) { return {multiply_add_generic, 2}; }
#endif
std::optional<Arithmetic> bf16_for(Isa) { return std::nullopt; }
std::optional<Arithmetic> matrices_for(Isa) { return std::nullopt; }

#endif

// Sums side by side, as many as hide an addition's latency.
float sum_of_products(const float* first, const float* second, std::int64_t count) {
  constexpr int kSums = 64;
  float sums[kSums] = {};
  for (std::int64_t i = 0; i + kSums <= count; i += kSums) {
    for (int k = 0; k < kSums; ++k) sums[k] += first[i + k] * second[i + k];
  }
  float total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

void scale(float* out, const float* in, std::int64_t count, float factor) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = factor * in[i];
}

double flops_per_second(const Arithmetic& arithmetic, int threads) {
  // Unknown to the compiler, or it would know the sums as well; they tend to two and stay ordinary numbers.
  volatile float factor = 0.5F, term = 1;
  volatile float sink = 0;
  const double seconds = best_seconds([&] {
    parallel(threads, [&](int thread, int) {
      const float result = arithmetic.run(kTurns, factor, term);
      if (thread == 0) sink = result;
    });
  });
  return arithmetic.flops_per_chain * kChains * kTurns * threads / seconds;
}

// Writing by the better of two ways, since the roof is what a kernel could reach. Reading alone is a roof of its own:
// cores read less at a time than they read and write.
void measure_memory(Bytes array_bytes, int threads, Roofs& roofs) {
  Arena arena(2 * array_bytes);
  auto* const out = reinterpret_cast<float*>(arena.data());
  const std::int64_t count = array_bytes / 4;
  auto* const in = out + count;
  const auto pass = [&](auto&& run) {
    parallel(threads, [&](int thread, int parts) {
      constexpr std::int64_t kBlock = 16;  // floats: pieces begin with a cache line
      const Range blocks = part_of(count / kBlock, thread, parts);
      run(out + blocks.begin * kBlock, in + blocks.begin * kBlock, (blocks.end - blocks.begin) * kBlock, 0.5F);
    });
  };
  // Each thread touches its own part first, as memory lies near whoever did.
  pass([](float* to, float* from, std::int64_t n, float) {
    std::fill_n(to, n, 1.0F);
    std::fill_n(from, n, 1.0F);
  });
  double seconds = best_seconds([&] { pass(scale); });
#if defined(__x86_64__)
  seconds = std::min(seconds, best_seconds([&] { pass(scale_streaming); }));
#endif
  roofs.bytes_per_second = 2.0 * static_cast<double>(array_bytes) / seconds;
  std::atomic<float> sink = 0;
  const double read_seconds = best_seconds([&] {
    pass([&](float* first, float* second, std::int64_t n, float) {
      sink.store(sum_of_products(first, second, n), std::memory_order_relaxed);
    });
  });
  roofs.read_bytes_per_second = 2.0 * static_cast<double>(array_bytes) / read_seconds;
}

}  // namespace

Roofs measure_roofs(const Target& target) {
  Roofs roofs;
  roofs.cache_bytes = last_level_cache_bytes();
  roofs.flops_per_second = flops_per_second(multiply_add_for(target.isa), target.threads);
  if (const auto bf16 = bf16_for(target.isa)) roofs.bf16_flops_per_second = flops_per_second(*bf16, target.threads);
  if (const auto matrices = matrices_for(target.isa))
    roofs.matrix_flops_per_second = flops_per_second(*matrices, target.threads);
  const Bytes wanted = std::max(kTimesCache * roofs.cache_bytes, kLeastArray);
  const Bytes array = std::min(wanted, memory_limit_bytes() / kShareOfMemory);
  measure_memory(round_up(array, kMiB), target.threads, roofs);
  return roofs;
}

Roofs better_of(const Roofs& first, const Roofs& second) {
  return {.flops_per_second = std::max(first.flops_per_second, second.flops_per_second),
          .bf16_flops_per_second = std::max(first.bf16_flops_per_second, second.bf16_flops_per_second),
          .matrix_flops_per_second = std::max(first.matrix_flops_per_second, second.matrix_flops_per_second),
          .read_bytes_per_second = std::max(first.read_bytes_per_second, second.read_bytes_per_second),
          .bytes_per_second = std::max(first.bytes_per_second, second.bytes_per_second),
          .cache_bytes = first.cache_bytes};
}

double roof_seconds(const Roofs& roofs, const Demand& demand) {
  const double f32 = roofs.flops_per_second;
  const std::optional<double> narrow = demand.products == Products::bf16_pairs      ? roofs.bf16_flops_per_second
                                       : demand.products == Products::bf16_matrices ? roofs.matrix_flops_per_second
                                                                                    : std::nullopt;
  const double rate = narrow.value_or(f32);
  return std::max(
      {demand.flops / rate, demand.bytes / roofs.bytes_per_second, demand.read_bytes / roofs.read_bytes_per_second});
}

}  // namespace thimble
