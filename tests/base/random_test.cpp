#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace thimble {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Known answers published with Random123 for philox4x32 with ten rounds.
TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(random_bits({0, 0}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(random_bits({0xffffffff, 0xffffffff}, 0xffffffffffffffff, 0xffffffffffffffff),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(random_bits({0xa4093822, 0x299f31d0}, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomKeys, DifferInSeedPurposeAndStream) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> keys;
  for (const std::uint64_t seed : {0ULL, 1ULL, 1ULL << 32}) {
    for (const RandomPurpose purpose :
         {RandomPurpose::init, RandomPurpose::shuffle, RandomPurpose::dropout, RandomPurpose::rounding}) {
      for (const std::uint64_t stream : {0ULL, 1ULL, 1ULL << 40}) {
        const RandomKey key = random_key(seed, purpose, stream);
        keys.insert({key.low, key.high});
      }
    }
  }
  EXPECT_EQ(keys.size(), 36U);
}

TEST(RandomUniform, FillsTheUnitIntervalEvenly) {
  constexpr int kDraws = 100000, kBins = 20;
  std::vector<int> bins(kBins);
  for (int n = 0; n < kDraws; ++n) {
    const float value = random_uniform({1, 2}, static_cast<std::uint64_t>(n));
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    ++bins[static_cast<std::size_t>(value * kBins)];
  }
  for (const int bin : bins)
    EXPECT_NEAR(bin, kDraws / kBins, 6 * std::sqrt(kDraws / kBins));  // six standard deviations
  EXPECT_LT(to_unit_float(0xffffffff), 1.0F);
  EXPECT_LT(to_unit_double(0xffffffff), 1.0);
}

TEST(RandomNormal, HasTheMomentsOfAStandardNormal) {
  constexpr int kDraws = 200000;
  double sum = 0, squares = 0, fourth = 0;
  for (int n = 0; n < kDraws; ++n) {
    const auto value = static_cast<double>(random_normal({3, 4}, static_cast<std::uint64_t>(n)));
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.012);
  EXPECT_NEAR(squares / kDraws, 1, 0.02);
  EXPECT_NEAR(fourth / kDraws, 3, 0.15);
}

TEST(RandomBelow, StaysBelowAndReachesEverything) {
  for (const std::uint64_t bound : {1ULL, 2ULL, 7ULL, 1000ULL}) {
    std::set<std::uint64_t> seen;
    for (std::uint64_t n = 0; n < 20 * bound; ++n) {
      const std::uint64_t value = random_below({5, 6}, n, bound);
      ASSERT_LT(value, bound);
      seen.insert(value);
    }
    EXPECT_EQ(seen.size(), bound);
  }
  EXPECT_GT(random_below({5, 6}, 0, 1ULL << 63) | random_below({5, 6}, 1, 1ULL << 63), 1ULL << 32);
  EXPECT_THROW(random_below({5, 6}, 0, 0), InternalError);
}

TEST(RandomPermuted, IsAPermutationForEveryCount) {
  std::vector<std::uint64_t> counts = {1000, 1023, 1024, 1025, 4096, 4097, 5000};
  for (std::uint64_t count = 1; count <= 130; ++count) counts.push_back(count);
  for (const std::uint64_t count : counts) {
    std::vector<bool> seen(count, false);
    for (std::uint64_t n = 0; n < count; ++n) {
      const std::uint64_t value = random_permuted({7, 8}, n, count);
      ASSERT_LT(value, count);
      ASSERT_FALSE(seen[value]) << value << " twice among " << count;
      seen[value] = true;
    }
  }
}

TEST(RandomPermuted, SendsEveryIndexEverywhere) {
  // Over many keys each index lands on each place about equally often.
  constexpr std::uint64_t kCount = 10, kKeys = 4000;
  std::vector<int> landed(kCount * kCount);
  for (std::uint32_t key = 0; key < kKeys; ++key) {
    for (std::uint64_t n = 0; n < kCount; ++n) ++landed[n * kCount + random_permuted({key, 99}, n, kCount)];
  }
  const double expected = static_cast<double>(kKeys) / kCount;
  for (const int count : landed) EXPECT_NEAR(count, expected, 6 * std::sqrt(expected));
}

TEST(RandomPermuted, DependsOnTheKeyAndRefusesForeignIndices) {
  int same = 0;
  for (std::uint64_t n = 0; n < 1000; ++n)
    same += random_permuted({1, 1}, n, 1000) == random_permuted({2, 1}, n, 1000) ? 1 : 0;
  EXPECT_LT(same, 10);
  EXPECT_THROW(random_permuted({1, 1}, 5, 5), InternalError);
  EXPECT_THROW(random_permuted({1, 1}, 0, 0), InternalError);
}

TEST(HashText, IsFnv1a) {
  const auto hash = [](const std::string& text) { return hash_text(text.data(), text.size()); };
  EXPECT_EQ(hash(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(hash("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(hash("foobar"), 0x85944171f73967e8ULL);
}

}  // namespace
}  // namespace thimble
