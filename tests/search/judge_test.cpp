// A judge that has judged others gives the figures of the schedule and buffers made for one choice alone.
#include <gtest/gtest.h>

#include "search/evaluate.h"
#include "search/networks.h"
#include "search/random_holding.h"

namespace thimble::testing {
namespace {

class Judging : public ::testing::TestWithParam<double> {};

TEST_P(Judging, OneAfterAnotherGivesWhatEachGivesAlone) {
  const Selected selected = network("wrn10-1", 4, {16, 16, 3}, GetParam());
  const Scheduler scheduler(selected);
  for (const BufferOptions& options : {BufferOptions{}, BufferOptions{false, true}, BufferOptions{true, false}}) {
    Judge judge(scheduler, options);
    std::int64_t steps = 0;
    for (std::uint64_t turn = 0; turn < 40; ++turn) {
      const Holding holding = random_holding(scheduler, turn);
      const PhaseSchedule schedule = scheduler.make(holding);
      const std::vector<Bytes> live = live_bytes(make_buffers(selected, schedule, options), schedule.steps.size());
      const Evaluation& judged = judge(holding);
      ASSERT_EQ(judged.live, live) << turn;
      EXPECT_EQ(judged.peak, *std::max_element(live.begin(), live.end()));
      EXPECT_EQ(judged.seconds, schedule.seconds);
      steps += static_cast<std::int64_t>(schedule.steps.size());
    }
    EXPECT_EQ(judge.work(), steps);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, Judging, ::testing::Values(0.0, 1.0),
                         [](const auto& tested) { return tested.param > 0 ? "clipped" : "plain"; });

}  // namespace
}  // namespace thimble::testing
