#include "memory/place/check.h"

#include <gtest/gtest.h>

#include <limits>

#include "memory/place/cases.h"
#include "memory/place/place.h"

namespace thimble {

namespace {

// Compares every pair; what the checker does by a sweep.
bool has_collision(const std::vector<Request>& requests, const std::vector<Bytes>& offsets) {
  for (std::size_t a = 0; a < requests.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const bool share_step =
          requests[a].first_step <= requests[b].last_step && requests[b].first_step <= requests[a].last_step;
      const bool share_byte = requests[a].bytes > 0 && requests[b].bytes > 0 &&
                              offsets[a] < offsets[b] + requests[b].bytes &&
                              offsets[b] < offsets[a] + requests[a].bytes;
      if (share_step && share_byte) return true;
    }
  }
  return false;
}

const std::vector<Request> kPair = {{.bytes = 100, .first_step = 0, .last_step = 2},
                                    {.bytes = 64, .first_step = 2, .last_step = 4}};

std::string fault_of(std::vector<Bytes> offsets, Bytes bytes) {
  return find_fault(kPair, {.offsets = std::move(offsets), .bytes = bytes, .strategy = {}}).value_or("none");
}

}  // namespace

TEST(Check, AcceptsNeighboursThatTouch) { EXPECT_EQ(fault_of({0, 128}, 192), "none"); }

TEST(Check, NamesAMissingOffset) { EXPECT_EQ(fault_of({0}, 192), "placement has 1 offsets for 2 requests"); }

TEST(Check, NamesAnOffsetThatIsNotAligned) {
  EXPECT_EQ(fault_of({0, 120}, 192), "request 1 (steps 2 to 4, 64 bytes at 120) is not aligned to 64 bytes");
}

TEST(Check, NamesWhatLiesOutside) {
  EXPECT_EQ(fault_of({0, 128}, 191), "request 1 (steps 2 to 4, 64 bytes at 128) lies outside the 191 bytes");
  EXPECT_EQ(fault_of({-64, 128}, 192), "request 0 (steps 0 to 2, 100 bytes at -64) lies outside the 192 bytes");
  EXPECT_NE(fault_of({0, std::numeric_limits<Bytes>::max() / 64 * 64}, 192), "none") << "an end that overflows";
  EXPECT_NE(fault_of({0, 0}, std::numeric_limits<Bytes>::min()), "none") << "negative arena";
}

TEST(Check, NamesTwoThatOverlap) {
  EXPECT_EQ(fault_of({0, 64}, 192),
            "request 0 (steps 0 to 2, 100 bytes at 0) and request 1 (steps 2 to 4, 64 bytes at 64) overlap");
  EXPECT_NE(fault_of({0, 0}, 192), "none") << "same offset";
  EXPECT_EQ(fault_of({64, 0}, 192), "none") << "the later one may lie below";
}

TEST(Check, LetsBytesBeSharedAtDifferentSteps) {
  const std::vector<Request> apart = {{.bytes = 64, .first_step = 0, .last_step = 1},
                                      {.bytes = 64, .first_step = 2, .last_step = 3}};
  EXPECT_FALSE(find_fault(apart, {.offsets = {0, 0}, .bytes = 64, .strategy = {}}));
}

TEST(Check, LetsZeroBytesLieAnywhereInside) {
  const std::vector<Request> requests = {{.bytes = 64, .first_step = 0, .last_step = 1},
                                         {.bytes = 0, .first_step = 0, .last_step = 1}};
  EXPECT_FALSE(find_fault(requests, {.offsets = {0, 0}, .bytes = 64, .strategy = {}}));
  EXPECT_FALSE(find_fault(requests, {.offsets = {0, 64}, .bytes = 64, .strategy = {}}));
  EXPECT_TRUE(find_fault(requests, {.offsets = {0, 128}, .bytes = 64, .strategy = {}}));
}

TEST(Check, AgreesWithAComparisonOfAllPairsOnAlteredPlacements) {
  int collision_count = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const std::vector<Request> requests = seed % 2 == 0 ? sparse_case(12, seed) : crowded_case(12, seed);
    Placement altered = place(requests);
    const std::size_t moved = seed % requests.size(), onto = (seed / 7) % requests.size();
    altered.offsets[moved] = altered.offsets[onto];
    altered.bytes = 1 << 30;
    const bool expected = has_collision(requests, altered.offsets);
    EXPECT_EQ(find_fault(requests, altered).has_value(), expected) << "seed " << seed;
    if (expected) ++collision_count;
  }
  EXPECT_GT(collision_count, 200);
  EXPECT_LT(collision_count, 1800);
}

}  // namespace thimble
