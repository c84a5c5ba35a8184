#include "run/arena.h"

#include <gtest/gtest.h>

#include <cstring>

#include "formats/support.h"
#include "run/meter.h"
#include "support/memory_group.h"

namespace thimble::testing {
namespace {

constexpr Bytes kLarge = 64 * kMiB, kSmall = 4 * kMiB, kSlack = 2 * kMiB;

TEST(Arena, ShrinkingGivesMemoryBackAndKeepsWhatLiesBelow) {
  Arena arena(kLarge);
  std::memset(arena.data(), 7, static_cast<std::size_t>(kLarge));
  const Bytes before = resident_bytes();
  ASSERT_TRUE(arena.resize(kSmall));
  EXPECT_EQ(arena.bytes(), kSmall);
  EXPECT_LT(resident_bytes(), before - (kLarge - kSmall) + kSlack);
  for (Bytes i = 0; i < kSmall; ++i) ASSERT_EQ(arena.data()[i], std::byte{7});
}

TEST(Arena, GrowingTouchesWhatIsNewAndMovesNothing) {
  Arena arena(kSmall, kLarge);
  std::memset(arena.data(), 7, static_cast<std::size_t>(kSmall));
  std::byte* const data = arena.data();
  const Bytes before = resident_bytes();
  ASSERT_TRUE(arena.resize(kLarge));
  EXPECT_EQ(arena.data(), data);
  EXPECT_GT(resident_bytes(), before + (kLarge - kSmall) - kSlack);
  EXPECT_EQ(arena.data()[kSmall - 1], std::byte{7});
  std::memset(arena.data(), 9, static_cast<std::size_t>(kLarge));
}

// Huge pages are asked for: none may reach over the end, nor hold on to what is given back.
constexpr Bytes kRagged = kSmall + 100 * 4096;

TEST(Arena, TakesNoMoreThanItsPages) {
  Arena arena(kRagged, kLarge);
  const Bytes before = resident_bytes();
  arena.touch();
  const Bytes smallest = resident_bytes();
  EXPECT_LE(smallest - before, kRagged + kMiB / 4);
  ASSERT_TRUE(arena.resize(kLarge - 4096));
  EXPECT_LE(resident_bytes() - smallest, kLarge - kRagged + kMiB / 4);
  ASSERT_TRUE(arena.resize(kRagged));
  EXPECT_LE(resident_bytes(), smallest + kMiB / 4);
}

TEST(Arena, AllThatItGivesBackIsFreeAtOnce) {
  const MemoryGroup group(2 * kLarge);
  if (!group.is_made()) GTEST_SKIP() << "needs root and the cgroup v1 memory controller";
  EXPECT_EQ(answer_of_child([&] {
              group.enter();
              const Bytes before = group.get("memory.usage_in_bytes");
              Arena arena(kLarge);
              arena.touch();
              const Bytes touched = group.get("memory.usage_in_bytes") - before;
              const bool is_shrunk = arena.resize(kRagged);
              const Bytes left = group.get("memory.usage_in_bytes") - before;
              MemoryGroup::leave();
              return join_text(is_shrunk, " ", touched >= kLarge, " ", left <= kRagged + kMiB);
            }),
            "1 1 1");
}

TEST(Arena, CapacityCostsNoMemory) {
#if defined(THIMBLE_EMULATED)
  GTEST_SKIP() << "the emulator's own tables for the reserved addresses would count";
#endif
  const Bytes before = resident_bytes();
  const Arena arena(kSmall, Bytes{1} << 36);
  EXPECT_LT(resident_bytes(), before + kSlack);
}

TEST(Arena, DoesNotGrowBeyondItsCapacity) {
  Arena arena(kSmall, kLarge);
  EXPECT_FALSE(arena.resize(kLarge + kMiB));
  EXPECT_EQ(arena.bytes(), kSmall);
}

TEST(Arena, WithoutAddressesToGrowIntoItStartsAndStays) {
  Arena arena(kSmall, Bytes{1} << 48);  // more than a process may address
  EXPECT_FALSE(arena.resize(kLarge));
  EXPECT_TRUE(arena.resize(kSmall / 2));
}

TEST(Arena, WhatWasGivenBackIsOutOfReach) {
  Arena arena(kLarge);
  arena.touch();
  ASSERT_TRUE(arena.resize(kSmall));
  EXPECT_DEATH(arena.data()[kSmall] = std::byte{1}, "");
}

TEST(Meter, PeakCountsAnewAfterAReset) {
  {
    Arena arena(kLarge);
    arena.touch();
  }
  const Bytes before = peak_resident_bytes();
  if (!reset_peak_resident()) GTEST_SKIP() << "this system does not let the peak be reset";
  EXPECT_LT(peak_resident_bytes(), before - kLarge / 2);
}

}  // namespace
}  // namespace thimble::testing
