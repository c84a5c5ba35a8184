// The plans that a run may move between: their order, their places, and the budgets they answer to.
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/small_run.h"

namespace thimble::testing {
namespace {

CompileRequest changing_request() {
  CompileRequest request = small_request("wrn10-1-gn", 8);
  request.microbatch = 4;
  request.train_samples = 21;
  request.test_samples = 10;
  request.changing = true;
  return request;
}

CompileResult compiled(const CompileRequest& request) { return compile(request, op_table(), cpu_kernels()); }

TEST(Ladder, RunsFromFastestToSmallestWithNoneBeaten) {
  const CompileResult result = compiled(changing_request());
  ASSERT_TRUE(result.compiled);
  const std::vector<Rung>& rungs = result.compiled->ladder.rungs;
  ASSERT_GT(rungs.size(), 3U);
  for (std::size_t r = 1; r < rungs.size(); ++r) {
    EXPECT_LE(rungs[r - 1].point.seconds, rungs[r].point.seconds);
    EXPECT_GT(rungs[r - 1].point.process_bytes, rungs[r].point.process_bytes);
  }
  EXPECT_EQ(rungs.front().point.recompute_flops_ratio, 0);
  EXPECT_EQ(result.compiled->ladder.start, 0U) << "unconstrained, the fastest";
}

TEST(Ladder, DoesNotDependOnTheBudgetWhichDecidesOnlyTheStart) {
  CompileRequest request = changing_request();
  const CompileResult free = compiled(request);
  const Ladder& ladder = free.compiled->ladder;
  const std::size_t middle = ladder.rungs.size() / 2;
  request.memory = ladder.rungs[middle].point.process_bytes;
  const CompileResult bound = compiled(request);
  ASSERT_TRUE(bound.compiled);
  ASSERT_EQ(bound.compiled->ladder.rungs.size(), ladder.rungs.size());
  for (std::size_t r = 0; r < ladder.rungs.size(); ++r) {
    EXPECT_EQ(bound.compiled->ladder.rungs[r].point.process_bytes, ladder.rungs[r].point.process_bytes);
    ASSERT_EQ(bound.compiled->ladder.rungs[r].plans.phases.size(), ladder.rungs[r].plans.phases.size());
    for (std::size_t p = 0; p < ladder.rungs[r].plans.phases.size(); ++p) {
      EXPECT_EQ(bound.compiled->ladder.rungs[r].plans.phases[p].words, ladder.rungs[r].plans.phases[p].words);
    }
  }
  EXPECT_EQ(bound.compiled->ladder.start, middle);
  EXPECT_EQ(bound.compiled->point.arena_bytes, ladder.rungs[middle].point.arena_bytes);
  EXPECT_EQ(bound.compiled->plans.arena_bytes, bound.compiled->point.arena_bytes);
}

TEST(Ladder, TheSmallestBudgetWorksAndAByteLessDoesNot) {
  for (const bool is_auto : {false, true}) {
    CompileRequest request = changing_request();
    if (is_auto) request.microbatch.reset();
    request.memory = kMiB;
    const CompileResult refused = compiled(request);
    ASSERT_FALSE(refused.compiled);
    request.memory = refused.smallest_memory;
    const CompileResult fitting = compiled(request);
    ASSERT_TRUE(fitting.compiled) << is_auto;
    EXPECT_LE(fitting.compiled->point.process_bytes, *request.memory);
    request.memory = refused.smallest_memory - 1;
    EXPECT_FALSE(compiled(request).compiled) << is_auto;
  }
}

TEST(Ladder, OfSeveralMicrobatchesHasStateAtTheSamePlaces) {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::momentum, OptimizerKind::adamw}) {
    CompileRequest request = changing_request();
    request.optimizer.kind = kind;
    request.microbatch.reset();
    request.allowed.insert("microbatch-change");
    const CompileResult result = compiled(request);
    ASSERT_TRUE(result.compiled);
    const Ladder& ladder = result.compiled->ladder;
    ASSERT_EQ(ladder.layouts.size(), 4U) << "8, 4, 2 and 1";
    std::size_t compared = 0;
    for (const PersistentPlace& wanted : ladder.layouts[0].persistents) {
      if (wanted.role == Role::accumulator || wanted.role == Role::metric) continue;
      for (const LadderLayout& layout : ladder.layouts) {
        for (const PersistentPlace& found : layout.persistents) {
          if (found.name != wanted.name) continue;
          EXPECT_EQ(found.place, wanted.place) << wanted.name;
          ++compared;
        }
      }
    }
    EXPECT_GT(compared, 4U * 10U);
  }
}

TEST(Ladder, WithOffloadReachesFurtherDownAndSharesOneSpillFile) {
  CompileRequest request = changing_request();
  const Bytes without = compiled(request).compiled->ladder.rungs.back().point.arena_bytes;
  request.allowed.insert("offload");
  const CompileResult result = compiled(request);
  ASSERT_TRUE(result.compiled);
  const Ladder& ladder = result.compiled->ladder;
  EXPECT_LT(ladder.rungs.back().point.arena_bytes, without);
  std::vector<Bytes> homes(ladder.layouts[0].persistents.size(), -1);
  std::size_t spilling = 0, known = 0;
  for (const Rung& rung : ladder.rungs) {
    ASSERT_EQ(rung.plans.persistents.size(), homes.size());
    spilling += rung.plans.spill_bytes > 0 ? 1 : 0;
    EXPECT_LE(rung.plans.spill_bytes, ladder.largest_spill());
    for (std::size_t p = 0; p < homes.size(); ++p) {
      const PackedPlace& place = rung.plans.persistents[p];
      if (place.space != Space::spill) continue;
      known += homes[p] >= 0 ? 1 : 0;
      EXPECT_TRUE(homes[p] < 0 || homes[p] == place.offset()) << ladder.layouts[0].persistents[p].name;
      homes[p] = place.offset();
    }
  }
  EXPECT_GT(spilling, 1U);
  EXPECT_LT(spilling, ladder.rungs.size()) << "the fastest does without";
  EXPECT_GT(known, 3U) << "no value is in the file in two plans";
}

TEST(Ladder, MicrobatchesChangeOnlyWithLeaveToSplit) {
  CompileRequest request = changing_request();
  request.model.name = "wrn10-1";
  request.microbatch.reset();
  request.allowed = {"microbatch-change"};
  EXPECT_THROW(compiled(request), UserError);
}

void expect_the_same_weights(CompileRequest request, std::size_t every) {
  request.changing = false;
  const CompileResult plain = compiled(request);
  const Weights wanted = run_compiled(*plain.compiled, 2);
  request.changing = true;
  const CompileResult all = compiled(request);
  for (std::size_t r = 0; r < all.compiled->ladder.rungs.size(); r += every) {
    request.memory = all.compiled->ladder.rungs[r].point.process_bytes;
    const CompileResult one = compiled(request);
    ASSERT_EQ(one.compiled->ladder.start, r);
    EXPECT_TRUE(run_compiled(*one.compiled, 2) == wanted) << "rung " << r;
  }
}

TEST(Ladder, EveryRungGivesTheSameWeights) {
  CompileRequest request = changing_request();
  expect_the_same_weights(request, 1);
  request.allowed.insert("offload");
  expect_the_same_weights(request, 3);
}

}  // namespace
}  // namespace thimble::testing
