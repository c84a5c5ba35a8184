#include "memory/place/request.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace thimble {

TEST(Request, RoundsItsBytesUpToTheAlignment) {
  EXPECT_EQ(aligned_bytes({.bytes = 0}), 0);
  EXPECT_EQ(aligned_bytes({.bytes = 1}), 64);
  EXPECT_EQ(aligned_bytes({.bytes = 64}), 64);
  EXPECT_EQ(aligned_bytes({.bytes = 65}), 128);
}

TEST(Request, IsSoundWithNoBytesAndWithOneStep) {
  const Request requests[] = {{.bytes = 0, .first_step = 3, .last_step = 3},
                              {.bytes = 5, .first_step = -2, .last_step = 9}};
  EXPECT_NO_THROW(ensure_sound(requests));
}

TEST(Request, IsRefusedWhenBytesAreNegative) {
  const Request requests[] = {{.bytes = -1, .first_step = 0, .last_step = 1}};
  EXPECT_THROW(ensure_sound(requests), InternalError);
}

TEST(Request, IsRefusedWhenItEndsBeforeItBegins) {
  const Request requests[] = {{.bytes = 1, .first_step = 4, .last_step = 3}};
  EXPECT_THROW(ensure_sound(requests), InternalError);
}

TEST(Request, IsRefusedWhenTheSumOfAllWouldOverflow) {
  const Request huge = {.bytes = std::numeric_limits<Bytes>::max() / 6, .first_step = 0, .last_step = 0};
  const Request one[] = {huge};
  const Request two[] = {huge, huge};
  EXPECT_NO_THROW(ensure_sound(one));
  EXPECT_THROW(ensure_sound(two), InternalError);
}

}  // namespace thimble
