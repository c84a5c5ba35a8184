// Counter-based random numbers (Philox 4x32-10, Salmon et al. 2011): a pure function of key and counter, so a value
// drawn again during recomputation, after a resume or on another thread is the same value. There is no generator state
// anywhere.
#pragma once

#include <array>
#include <cstdint>

namespace thimble {

// What a stream of numbers is for; part of the key so that two purposes never share numbers.
enum class RandomPurpose : std::uint32_t { init = 1, shuffle, augment, dropout, rounding, rewire, glyphs, test, place };

struct RandomKey {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
};

// seed and purpose choose a family, `stream` (an op, a tensor, an epoch) one member of it.
RandomKey random_key(std::uint64_t seed, RandomPurpose purpose, std::uint64_t stream);

inline std::array<std::uint32_t, 4> random_bits(RandomKey key, std::uint64_t counter_low, std::uint64_t counter_high) {
  std::array<std::uint32_t, 4> c = {
      static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32),
      static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32)};
  std::uint32_t k0 = key.low, k1 = key.high;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

inline float to_unit_float(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1.0p-24F; }  // [0, 1)
inline double to_unit_double(std::uint32_t bits) { return static_cast<double>(bits) * 0x1.0p-32; }     // [0, 1)

float random_uniform(RandomKey key, std::uint64_t index);                             // [0, 1)
float random_normal(RandomKey key, std::uint64_t index);                              // mean 0, standard deviation 1
std::uint64_t random_below(RandomKey key, std::uint64_t index, std::uint64_t bound);  // [0, bound), bound > 0

// A permutation of 0 .. count-1 as a pure function of the index (Feistel network with cycle walking): shuffling needs
// no memory.
std::uint64_t random_permuted(RandomKey key, std::uint64_t index, std::uint64_t count);

std::uint64_t hash_text(const char* data, std::size_t size);  // FNV-1a; names a stream after a tensor or an op

}  // namespace thimble
