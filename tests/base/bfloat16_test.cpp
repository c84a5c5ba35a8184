#include "base/bfloat16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/call.h"
#include "base/random.h"

namespace thimble {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(BFloat16, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 value{static_cast<std::uint16_t>(bits)};
    if (std::isnan(to_float(value))) continue;
    ASSERT_EQ(to_bfloat16(to_float(value)).bits, bits);
    ASSERT_EQ(to_bfloat16_stochastic(to_float(value), 0xffff).bits, bits) << "an exact value has nothing to round";
  }
}

TEST(BFloat16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(to_bfloat16(from_bits(0x3f807fff)).bits, 0x3f80);  // just below the middle
  EXPECT_EQ(to_bfloat16(from_bits(0x3f808000)).bits, 0x3f80);  // a tie, down to even
  EXPECT_EQ(to_bfloat16(from_bits(0x3f808001)).bits, 0x3f81);  // just above
  EXPECT_EQ(to_bfloat16(from_bits(0x3f818000)).bits, 0x3f82);  // a tie, up to even
  EXPECT_EQ(to_bfloat16(from_bits(0xbf818000)).bits, 0xbf82);  // the sign takes no part
  EXPECT_EQ(to_bfloat16(from_bits(0x3fffffff)).bits, 0x4000);  // the carry reaches the exponent
  EXPECT_EQ(to_bfloat16(-0.0F).bits, 0x8000);
  EXPECT_EQ(to_bfloat16(from_bits(0x00000001)).bits, 0x0000);  // the smallest denormal
  EXPECT_EQ(to_bfloat16(from_bits(0x00018000)).bits, 0x0002);  // denormals tie as well
}

TEST(BFloat16, OverflowBecomesInfinityAndInfinityStays) {
  EXPECT_EQ(to_float(to_bfloat16(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_EQ(to_float(to_bfloat16(kInfinity)), kInfinity);
  EXPECT_EQ(to_float(to_bfloat16(-kInfinity)), -kInfinity);
  EXPECT_EQ(to_float(to_bfloat16_stochastic(kInfinity, 0xffff)), kInfinity);
  EXPECT_EQ(to_float(to_bfloat16_stochastic(-kInfinity, 0xffff)), -kInfinity);
}

TEST(BFloat16, NanStaysNan) {
  // Payloads that truncation or rounding alone would turn into infinity or zero.
  for (const std::uint32_t bits : {0x7fc00000U, 0x7f800001U, 0xff800001U, 0x7fffffffU, 0xffffffffU, 0x7f80ffffU}) {
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16(from_bits(bits))))) << std::hex << bits;
    EXPECT_TRUE(std::isnan(to_float(to_bfloat16_stochastic(from_bits(bits), 0xffff)))) << std::hex << bits;
    EXPECT_EQ(to_bfloat16(from_bits(bits)).bits >> 15, bits >> 31) << "the sign stays";
  }
}

TEST(BFloat16, StochasticRoundingGoesUpAsOftenAsTheRestSays) {
  // 1 + 1/4 of a step: of the 65536 random numbers exactly a quarter round up.
  const float value = from_bits(0x3f804000);
  int ups = 0;
  for (std::uint32_t random = 0; random < 0x10000; ++random) {
    const std::uint16_t bits = to_bfloat16_stochastic(value, random).bits;
    ASSERT_TRUE(bits == 0x3f80 || bits == 0x3f81);
    ups += bits == 0x3f81 ? 1 : 0;
  }
  EXPECT_EQ(ups, 0x4000);
  EXPECT_EQ(to_bfloat16_stochastic(value, 0xabcd0000U).bits, 0x3f80) << "only the low 16 bits count";
}

TEST(BFloat16, StochasticRoundingIsUnbiased) {
  for (std::uint64_t n = 0; n < 50; ++n) {
    const float value = random_normal({1, 2}, n);
    double sum = 0;
    for (std::uint32_t random = 0; random < 0x10000; ++random)
      sum += static_cast<double>(to_float(to_bfloat16_stochastic(value, random)));
    EXPECT_NEAR(sum / 0x10000, static_cast<double>(value), 1e-9);
  }
}

TEST(ElementAccess, LoadsAndStoresEveryType) {
  const auto round_trip = [](auto zero, DType dtype, double value) {
    auto memory = zero;
    const TensorView view{&memory, dtype, {1}};
    store(view, 0, value);
    return load(view, 0);
  };
  EXPECT_EQ(round_trip(0.0F, DType::f32, 0.1), static_cast<double>(0.1F));
  EXPECT_EQ(round_trip(0.0, DType::f64, 0.1), 0.1);
  EXPECT_EQ(round_trip(BFloat16{}, DType::bf16, 0.1), 0.10009765625);
  EXPECT_EQ(round_trip(std::int32_t{0}, DType::i32, -70000), -70000);
  EXPECT_EQ(round_trip(std::uint8_t{0}, DType::u8, 255), 255);
}

}  // namespace
}  // namespace thimble
