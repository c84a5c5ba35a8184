// bfloat16 as storage: the upper half of an f32. Arithmetic is always done in f32.
#pragma once

#include <bit>
#include <cstdint>

namespace thimble {

struct BFloat16 {
  std::uint16_t bits = 0;
};

constexpr float to_float(BFloat16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

// Round to nearest, ties to even; NaN stays a NaN.
constexpr BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

// Stochastic rounding: `random` holds 16 uniform bits. Unbiased for finite values; NaN and infinity stay what they are.
constexpr BFloat16 to_bfloat16_stochastic(float value, std::uint32_t random) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7f800000U) == 0x7f800000U) return to_bfloat16(value);
  return {static_cast<std::uint16_t>((bits + (random & 0xffffU)) >> 16)};
}

}  // namespace thimble
