// What offload adds to a front: points below it, none beaten, each as it was judged.
#include "search/offload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "memory/place/request.h"
#include "search/evaluate.h"
#include "search/networks.h"

namespace thimble::testing {
namespace {

Bytes persistent_bytes(const Graph& graph) {
  Bytes bytes = 0;
  for (std::int32_t v = 0; v < graph.value_count(); ++v) {
    const ValueId id{v};
    if (is_persistent(graph.value(id).role) && graph.storage_of(id) == id)
      bytes += round_up(graph.value(id).type.bytes(), kAlignment);
  }
  return bytes;
}

// On top of blocks: what a search of recomputation finds besides has nothing to do with these tests.
class OffloadFront : public ::testing::Test {
 protected:
  OffloadFront() {
    for (const Strategy& strategy : named_strategies(scheduler, Recompute::block)) {
      const Evaluation judged = evaluate(scheduler, strategy.holding, {});
      front.push_back({strategy.holding, judged.peak, judged.seconds, judged.recompute_flops_ratio, strategy.name});
    }
    std::stable_sort(front.begin(), front.end(),
                     [](const FrontPoint& a, const FrontPoint& b) { return a.seconds < b.seconds; });
    points = search_offload(scheduler, front, options);
  }

  Selected selected = network("resnet18-gn", 2, {16, 16, 3});
  Scheduler scheduler{selected};
  OffloadOptions options{.buffers = {}, .persistent_bytes = persistent_bytes(selected.graph())};
  std::vector<FrontPoint> front;
  std::vector<OffloadPoint> points;
};

TEST_F(OffloadFront, HasNoPointThatAnotherBeatsOrEquals) {
  ASSERT_GE(points.size(), 3U);
  for (std::size_t i = 1; i < points.size(); ++i) {
    EXPECT_LT(points[i].arena_bytes(), points[i - 1].arena_bytes());
    EXPECT_GT(points[i].seconds, points[i - 1].seconds);
  }
}

TEST_F(OffloadFront, FiguresOfAPointAreThoseOfItsSchedule) {
  for (const OffloadPoint& point : points) {
    const Evaluation again = evaluate(scheduler, point.holding, {}, point.offload);
    EXPECT_EQ(point.live_bytes, again.peak);
    EXPECT_EQ(point.seconds, again.seconds);
    EXPECT_EQ(point.resident_bytes,
              resident_bytes(scheduler, point.holding.keep, point.offload, options.persistent_bytes));
  }
}

TEST_F(OffloadFront, ReachesFarBelowWhatPersists) {
  EXPECT_LT(2 * points.back().arena_bytes(), options.persistent_bytes);
}

// The first grid knows nine amounts of what persists, and tries three distances of look-ahead.
TEST_F(OffloadFront, IsFinerThanItsFirstGrid) {
  std::set<std::int64_t> amounts;
  std::set<int> distances;
  for (const OffloadPoint& point : points) {
    amounts.insert(std::count(point.offload.homes.begin(), point.offload.homes.end(), true));
    distances.insert(point.offload.ahead);
  }
  EXPECT_GT(amounts.size(), 9U);
  EXPECT_GE(distances.size(), 3U);
}

}  // namespace
}  // namespace thimble::testing
