#include "memory/place/lower_bound.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/place/cases.h"

namespace thimble {

TEST(LowerBound, OfNothingIsZero) { EXPECT_EQ(lower_bound({}), 0); }

TEST(LowerBound, CountsAlignedBytesAtTheBusiestStep) {
  const Request requests[] = {{.bytes = 100, .first_step = 0, .last_step = 2},   // 128 aligned
                              {.bytes = 64, .first_step = 2, .last_step = 4},    // meets the first at step 2
                              {.bytes = 150, .first_step = 5, .last_step = 5}};  // 192 aligned, alone
  EXPECT_EQ(lower_bound(requests), 192);
  EXPECT_EQ(lower_bound(std::span(requests).first(2)), 192);
  EXPECT_EQ(lower_bound(std::span(requests).first(1)), 128);
}

TEST(LowerBound, DoesNotAddWhatDiesJustBeforeTheOtherIsBorn) {
  const Request requests[] = {{.bytes = 64, .first_step = 0, .last_step = 1},
                              {.bytes = 64, .first_step = 2, .last_step = 3}};
  EXPECT_EQ(lower_bound(requests), 64);
}

TEST(LowerBound, EqualsAStepByStepCount) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<Request> requests = sparse_case(20, seed);
    Bytes most = 0;
    for (int step = 0; step < 100; ++step) {
      Bytes live = 0;
      for (const Request& request : requests) {
        if (request.first_step <= step && step <= request.last_step) live += (request.bytes + 63) / 64 * 64;
      }
      most = std::max(most, live);
    }
    EXPECT_EQ(lower_bound(requests), most) << "seed " << seed;
  }
}

}  // namespace thimble
