#include "base/median.h"

#include <gtest/gtest.h>

namespace thimble::testing {
namespace {

TEST(Median, IsTheMiddleOne) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

}  // namespace
}  // namespace thimble::testing
