// The named strategies: what each is known for, and that all are sound and part of the front.
#include "search/strategies.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "search/networks.h"

namespace thimble::testing {
namespace {

constexpr Recompute kFamilies[] = {Recompute::chen, Recompute::block, Recompute::sage, Recompute::greedy};

TEST(Recompute, NamesAreReadBack) {
  for (const Recompute family : kFamilies) EXPECT_EQ(recompute_from_name(name_of(family)), family);
  EXPECT_EQ(recompute_from_name("auto"), Recompute::automatic);
  EXPECT_EQ(recompute_from_name("none"), Recompute::none);
  EXPECT_EQ(name_of(static_cast<Recompute>(99)), "");
  EXPECT_THROW(recompute_from_name("checkmate"), UserError);
}

TEST(Strategies, AFamilyHasItsOwnSchedulesAndTheOneThatKeepsAll) {
  const Selected selected = network("wrn16-1", 4, {16, 16, 3});
  const Scheduler scheduler(selected);
  std::size_t count = 1;
  for (const Recompute family : kFamilies) {
    const std::vector<Strategy> strategies = named_strategies(scheduler, family);
    EXPECT_GE(strategies.size(), 4U) << name_of(family);
    EXPECT_EQ(strategies.front().name, "keep all");
    for (std::size_t i = 1; i < strategies.size(); ++i) EXPECT_EQ(strategies[i].family, family) << strategies[i].name;
    count += strategies.size() - 1;
  }
  // The whole has them all, and segments with the best places to split.
  const std::vector<Strategy> all = named_strategies(scheduler);
  const auto own = std::count_if(all.begin(), all.end(),
                                 [](const Strategy& strategy) { return strategy.family == Recompute::automatic; });
  EXPECT_GT(own, 0);
  EXPECT_EQ(all.size(), count + static_cast<std::size_t>(own));
  EXPECT_EQ(named_strategies(scheduler, Recompute::none).size(), 1U);
}

TEST(Strategies, TheFrontOfAFamilyIsMadeOfNothingElse) {
  const Selected selected = network("wrn10-1-gn", 4, {16, 16, 3});
  const Scheduler scheduler(selected);
  const std::vector<FrontPoint> all = search_front(scheduler, {});
  for (const Recompute family : kFamilies) {
    const std::vector<Strategy> strategies = named_strategies(scheduler, family);
    SearchOptions options;
    options.recompute = family;
    const std::vector<FrontPoint> front = search_front(scheduler, options);
    EXPECT_GE(front.size(), 2U) << name_of(family);
    EXPECT_EQ(front.front().strategy, "keep all");
    for (const FrontPoint& point : front) {
      const auto made_it = std::find_if(strategies.begin(), strategies.end(),
                                        [&](const Strategy& strategy) { return strategy.name == point.strategy; });
      ASSERT_NE(made_it, strategies.end()) << point.strategy;
      EXPECT_EQ(point.holding, made_it->holding);
      EXPECT_TRUE(is_matched(all, point.live_bytes, point.seconds))
          << point.strategy << " is missing in the whole front";
    }
  }
  EXPECT_EQ(search_front(scheduler, {.recompute = Recompute::none, .buffers = {}}).size(), 1U);
}

// Of equal layers Sage drops the first it meets; a greedy run weighs how long each has been unused, which on a chain
// spares what is wanted soonest. Neither drops anything while all fits.
TEST(Strategies, EvictionUnderMorePressureRecomputesMore) {
  const Selected selected = chain_of(16);
  const Scheduler scheduler(selected);
  for (const Recompute family : {Recompute::sage, Recompute::greedy}) {
    const std::vector<Strategy> strategies = named_strategies(scheduler, family);
    const Evaluation all = evaluate(scheduler, strategies.front().holding, {});
    const Evaluation gentle = evaluate(scheduler, strategies[1].holding, {});
    const Evaluation hard = evaluate(scheduler, strategies.back().holding, {});
    EXPECT_LT(gentle.peak, all.peak) << name_of(family);
    EXPECT_LT(hard.peak, gentle.peak) << name_of(family);
    EXPECT_GT(gentle.seconds, all.seconds) << name_of(family);
    EXPECT_GT(hard.seconds, gentle.seconds) << name_of(family);
  }
}

// On equal layers the best splits need no more layers run again than halves do, within the same bytes.
TEST(Strategies, TheBestSegmentsBeatHalves) {
  for (const int layers : {16, 32}) {
    const Selected selected = chain_of(layers);
    const Scheduler scheduler(selected);
    const std::vector<Strategy> strategies = named_strategies(scheduler);
    int compared = 0;
    for (const Strategy& halves : strategies) {
      if (!halves.name.starts_with("chen recursive")) continue;
      const Evaluation wanted = evaluate(scheduler, halves.holding, {});
      const bool is_matched = std::any_of(strategies.begin(), strategies.end(), [&](const Strategy& strategy) {
        if (strategy.family != Recompute::automatic) return false;
        const Evaluation found = evaluate(scheduler, strategy.holding, {});
        return found.peak <= wanted.peak && found.seconds <= wanted.seconds;
      });
      EXPECT_TRUE(is_matched) << layers << " layers, " << halves.name;
      ++compared;
    }
    EXPECT_GT(compared, 1);
  }
}

TEST(Strategies, ExceptionsThatAScheduleNeverMeetsAreLeftOut) {
  const Selected selected = chain_of(8);
  const Scheduler scheduler(selected);
  for (const Strategy& strategy : named_strategies(scheduler)) {
    const std::vector<Gap> met = scheduler.gaps(strategy.holding);
    for (const Gap& gap : strategy.holding.gaps)
      EXPECT_TRUE(std::binary_search(met.begin(), met.end(), gap)) << strategy.name;
    EXPECT_EQ(tidied(scheduler, strategy.holding), strategy.holding) << strategy.name;
  }
}

}  // namespace
}  // namespace thimble::testing
