// Slots of a pool: slot s is elements table[s] .. table[s+1], and the k-th set bit of the tensor's mask is its k-th
// element. Table and mask may come from a damaged file: nothing outside the slot, nor the slot outside the pool, is
// ever touched.
#pragma once

#include "kernels/cpu/blocks.h"

namespace thimble::kernels::THIMBLE_ISA {

static inline Range slot_of(const TensorView& table, std::int64_t slot, std::int64_t capacity) {
  const auto* ends = table.as<const std::int32_t>();
  const std::int64_t begin = smaller(larger(ends[slot], 0), capacity);
  return {begin, smaller(larger(ends[slot + 1], begin), capacity)};
}

static inline std::int64_t count_bits(const std::uint8_t* bits, std::int64_t bytes) {
  std::int64_t count = 0, byte = 0;
  for (; byte + 8 <= bytes; byte += 8) {
    std::uint64_t word;
    std::memcpy(&word, bits + byte, 8);
    count += std::popcount(word);
  }
  for (; byte < bytes; ++byte) count += std::popcount(bits[byte]);
  return count;
}

// Calls body(place, elements, count) for runs of at most kBlock non-zeros: elements[k] is the index in the dense tensor
// of the non-zero at pool element place + k. Covers the dense elements of mask bytes [begin, end).
template <typename Body>
void each_run(const std::uint8_t* bits, Range bytes, std::int64_t element_count, Range slot, Body&& body) {
  std::int64_t elements[kBlock];
  std::int64_t place = slot.begin + count_bits(bits, bytes.begin), count = 0;
  const auto flush = [&] {
    count = smaller(count, larger(slot.end - place, 0));
    if (count > 0) body(place, static_cast<const std::int64_t*>(elements), count);
    place += count;
    count = 0;
  };
  for (std::int64_t byte = bytes.begin; byte < bytes.end && place < slot.end; ++byte) {
    unsigned left = bits[byte];
    if (byte * 8 + 8 > element_count) left &= (1U << (element_count - byte * 8)) - 1U;
    for (; left != 0; left &= left - 1) elements[count++] = byte * 8 + std::countr_zero(left);
    if (count + 8 > kBlock) flush();
  }
  flush();
}

// An update in place leaves the other slots alone; one that writes elsewhere has to bring them along.
static inline void copy_pool(const TensorView& from, const TensorView& to) {
  if (from.data == to.data) return;
  std::memcpy(to.data, from.data, static_cast<std::size_t>(from.shape.count() * bytes_of(from.dtype)));
}

}  // namespace thimble::kernels::THIMBLE_ISA
