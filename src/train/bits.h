// Bit masks as sparse tensors keep them: bit e % 8 of byte e / 8 is element e.
#pragma once

#include <bit>
#include <cstdint>

#include "base/random.h"

namespace thimble {

constexpr std::int64_t mask_bytes(std::int64_t element_count) { return (element_count + 7) / 8; }

inline bool bit_at(const std::uint8_t* bits, std::int64_t element) {
  return ((bits[element / 8] >> (element % 8)) & 1) != 0;
}
inline void set_bit(std::uint8_t* bits, std::int64_t element) {
  bits[element / 8] = static_cast<std::uint8_t>(bits[element / 8] | (1U << (element % 8)));
}
inline void clear_bit(std::uint8_t* bits, std::int64_t element) {
  bits[element / 8] = static_cast<std::uint8_t>(bits[element / 8] & ~(1U << (element % 8)));
}

inline std::int64_t count_bits(const std::uint8_t* bits, std::int64_t element_count) {
  std::int64_t count = 0;
  for (std::int64_t byte = 0; byte < mask_bytes(element_count); ++byte) count += std::popcount(bits[byte]);
  return count;
}

// Calls body(element) for every set bit, ascending. The body may change the bits of elements up to its own.
template <typename Body>
void for_each_bit(const std::uint8_t* bits, std::int64_t element_count, Body&& body) {
  for (std::int64_t byte = 0; byte < mask_bytes(element_count); ++byte) {
    for (unsigned left = bits[byte]; left != 0; left &= left - 1) body(byte * 8 + std::countr_zero(left));
  }
}

// Draws `wanted` of `candidates` things shown one after another, every choice equally likely (selection sampling, Knuth
// 3.4.2): no memory but two counts, and as many draws as things.
class Selection {
 public:
  // Draws `first`, first + 1, ... of the stream are used.
  Selection(RandomKey key, std::uint64_t first, std::int64_t candidates, std::int64_t wanted)
      : key_(key), next_(first), left_(candidates), wanted_(wanted) {}

  bool takes_next() {
    if (wanted_ == 0) return false;
    const auto left = static_cast<std::uint64_t>(left_--);
    if (random_below(key_, next_++, left) >= static_cast<std::uint64_t>(wanted_)) return false;
    --wanted_;
    return true;
  }
  std::int64_t missing() const { return wanted_; }  // zero once all candidates were shown

 private:
  RandomKey key_;
  std::uint64_t next_;
  std::int64_t left_;
  std::int64_t wanted_;
};

}  // namespace thimble
