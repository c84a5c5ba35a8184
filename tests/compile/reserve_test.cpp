// What the process holds beside its arena, as predicted.
#include "compile/reserve.h"

#include <gtest/gtest.h>

#include <vector>

namespace thimble {
namespace {

ReserveFacts facts_with(Bytes arena) {
  return {.target = {}, .arena_bytes = arena, .step_count = 700, .busiest_node_count = 600};
}

Bytes process_with(Bytes arena) { return arena + predict_reserve(facts_with(arena)).total(); }

TEST(Reserve, IsWholeMebibytes) {
  for (const Bytes arena : {Bytes{0}, 3 * kMiB + 64, 64 * kMiB, 64 * kMiB + 4096, 200 * kMiB})
    EXPECT_EQ(predict_reserve(facts_with(arena)).total() % kMiB, 0);
}

// It is gone when the arena comes, so that arena and reserve have to cover it together.
TEST(Reserve, HoldsTheCompilerWhereTheArenaIsSmall) {
  const Bytes planning = predict_planning(facts_with(0));
  for (const Bytes arena : {kMiB, 3 * kMiB + 4096, 5 * kMiB + 64}) {
    EXPECT_GE(process_with(arena), planning);
    EXPECT_LT(process_with(arena), planning + kMiB);
  }
  EXPECT_GT(process_with(planning), planning + kMiB);
}

// Searches end by it: what it says of a small arena must hold for all larger ones.
TEST(Reserve, HasABoundThatNoLargerArenaFallsBelow) {
  std::vector<Bytes> bounds;
  for (Bytes arena = 0; arena < 40 * kMiB; arena += 100 * kKiB) {
    bounds.push_back(least_process(facts_with(arena)));
    for (const Bytes bound : bounds) ASSERT_LE(bound, process_with(arena)) << arena;
  }
}

}  // namespace
}  // namespace thimble
