#include "base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace thimble {

RandomKey random_key(std::uint64_t seed, RandomPurpose purpose, std::uint64_t stream) {
  // One Philox call mixes all three into a key.
  const RandomKey seed_key = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  const auto bits = random_bits(seed_key, stream, static_cast<std::uint64_t>(purpose));
  return {bits[0], bits[1]};
}

float random_uniform(RandomKey key, std::uint64_t index) { return to_unit_float(random_bits(key, index, 0)[0]); }

float random_normal(RandomKey key, std::uint64_t index) {
  // Box-Muller in double; 1 - u keeps the logarithm away from zero.
  const auto bits = random_bits(key, index, 0);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - to_unit_double(bits[0])));
  return static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * to_unit_double(bits[1])));
}

std::uint64_t random_below(RandomKey key, std::uint64_t index, std::uint64_t bound) {
  ensure(bound > 0, "random_below: the bound is zero");
  const auto bits = random_bits(key, index, 1);
  const std::uint64_t word = (std::uint64_t{bits[0]} << 32) | bits[1];
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(word) * bound) >> 64);
}

std::uint64_t random_permuted(RandomKey key, std::uint64_t index, std::uint64_t count) {
  ensure(index < count, "random_permuted: index ", index, " of ", count);
  if (count < 2) return index;
  const int half_bits = (static_cast<int>(std::bit_width(count - 1)) + 1) / 2;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t value = index;
  do {  // walk the cycle until the value falls inside the range; a few steps, since the domain is at most four times
        // larger
    std::uint64_t left = value >> half_bits, right = value & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const auto bits = random_bits(key, right, round + 2);
      const std::uint64_t next = left ^ (bits[0] & mask);
      left = right;
      right = next;
    }
    value = (left << half_bits) | right;
  } while (value >= count);
  return value;
}

std::uint64_t hash_text(const char* data, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(data[i])) * 0x100000001b3ULL;
  return hash;
}

}  // namespace thimble
