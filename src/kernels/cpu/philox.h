// Philox 4x32-10 on vectors: the same words as random_bits in base/random.h, for many counters at once, and the
// stochastic rounding that spends them.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

THIMBLE_INLINE void store_stochastic(BFloat16* p, Vec a, Words random, AllLanes) { store_stochastic(p, a, random); }
THIMBLE_INLINE void store_stochastic(BFloat16* p, Vec a, Words random, FirstLanes lanes) {
  BFloat16 part[kLanes];
  store_stochastic(part, a, random);
  for (int i = 0; i < lanes.count; ++i) p[i] = part[i];
}

// random_bits(key, counter(lane), counter_high)[0] in every lane.
template <typename Counter>
THIMBLE_INLINE Words first_words(RandomKey key, std::uint64_t counter_high, Counter&& counter) {
  alignas(64) std::uint32_t low_words[kLanes], high_words[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t value = counter(lane);
    low_words[lane] = static_cast<std::uint32_t>(value);
    high_words[lane] = static_cast<std::uint32_t>(value >> 32);
  }
  Words c0 = load_words(low_words), c1 = load_words(high_words);
  Words c2 = broadcast_word(static_cast<std::uint32_t>(counter_high));
  Words c3 = broadcast_word(static_cast<std::uint32_t>(counter_high >> 32));
  for (std::uint32_t round = 0; round < 10; ++round) {
    Words low0, high0, low1, high1;
    multiply(c0, broadcast_word(0xD2511F53U), low0, high0);
    multiply(c2, broadcast_word(0xCD9E8D57U), low1, high1);
    c0 = exclusive_or(high1, c1, broadcast_word(key.low + round * 0x9E3779B9U));
    c1 = low1;
    c2 = exclusive_or(high0, c3, broadcast_word(key.high + round * 0xBB67AE85U));
    c3 = low0;
  }
  return c0;
}

}  // namespace thimble::kernels::THIMBLE_ISA
