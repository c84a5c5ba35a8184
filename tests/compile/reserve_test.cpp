// What the process holds beside its arena, as predicted.
#include "compile/reserve.h"

#include <gtest/gtest.h>

namespace thimble {
namespace {

ReserveFacts facts_with(Bytes arena) {
  return {.target = {}, .arena_bytes = arena, .step_count = 700, .busiest_node_count = 600};
}

Bytes process_with(Bytes arena) { return arena + predict_reserve(facts_with(arena)).total(); }

// Then the compiler is what needs the budget: nothing is gained by looking for ever smaller arenas.
TEST(Reserve, MakesAllPlansThatAreSmallerThanTheCompilerNeedTheSame) {
  const Bytes least = process_with(0);
  EXPECT_EQ(least % kMiB, 0);
  for (const Bytes arena : {kMiB, 3 * kMiB + 4096, 5 * kMiB + 64}) EXPECT_EQ(process_with(arena), least);
  EXPECT_GT(process_with(least), least);
}

TEST(Reserve, IsWholeMebibytesWhereTheArenaIsLarge) {
  for (const Bytes arena : {64 * kMiB, 64 * kMiB + 4096, 200 * kMiB})
    EXPECT_EQ(predict_reserve(facts_with(arena)).total() % kMiB, 0);
}

TEST(Reserve, NeverMakesALargerArenaNeedLess) {
  Bytes last = 0;
  for (Bytes arena = 0; arena < 40 * kMiB; arena += 100 * kKiB) {
    EXPECT_GE(process_with(arena), last);
    last = process_with(arena);
  }
}

}  // namespace
}  // namespace thimble
