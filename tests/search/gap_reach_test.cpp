// Changes of gaps that are ruled out unjudged would not have helped: holding one never, dropping one hardly ever.
#include "search/gap_reach.h"

#include <gtest/gtest.h>

#include "search/networks.h"
#include "search/random_holding.h"

namespace thimble::testing {
namespace {

class Reach : public ::testing::TestWithParam<double> {};

TEST_P(Reach, RulesOutWhatDoesNotHelp) {
  const Selected selected = network("wrn10-1", 4, {16, 16, 3}, GetParam());
  const Scheduler scheduler(selected);
  Judge judge(scheduler, {});
  int ruled_out_drops = 0, ruled_out_holds = 0, others = 0, helped = 0;
  for (std::uint64_t turn = 0; turn < 24; ++turn) {
    const Holding holding = random_holding(scheduler, turn);
    const Evaluation now = judge(holding);
    const Bytes target = now.peak - now.peak / (2 + static_cast<Bytes>(turn));
    const MetGaps met = scheduler.met_gaps(holding);
    const GapReach reach(scheduler, met, now.live, target);
    // Room for what is dropped is asked for where there is none to spare.
    const GapReach at_peak(scheduler, met, now.live, now.peak);
    for (const MetGap& gap : met.gaps) {
      const bool is_ruled_out = gap.gap.is_held ? !reach.may_lower(gap) : !at_peak.may_fit(gap);
      others += is_ruled_out ? 0 : 1;
      if (!is_ruled_out) continue;
      Holding changed = holding;
      changed.set({gap.gap.value, gap.gap.after, !gap.gap.is_held});
      const Evaluation& then = judge(changed);
      if (gap.gap.is_held) {
        if (then.excess(target) < now.excess(target)) ++helped;
        ++ruled_out_drops;
      } else {
        EXPECT_GT(then.peak, now.peak) << turn;
        ++ruled_out_holds;
      }
    }
  }
  EXPECT_GT(ruled_out_drops, 50);
  EXPECT_LT(50 * helped, ruled_out_drops);
  EXPECT_GT(ruled_out_holds, 0);
  EXPECT_GT(others, 0);
}

INSTANTIATE_TEST_SUITE_P(Small, Reach, ::testing::Values(0.0, 1.0),
                         [](const auto& tested) { return tested.param > 0 ? "clipped" : "plain"; });

}  // namespace
}  // namespace thimble::testing
