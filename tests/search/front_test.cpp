// The front: none of its points beaten, every one of them a sound program, the same every time.
#include "search/front.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "memory/make_plan.h"
#include "memory/verify/verify.h"
#include "search/networks.h"

namespace thimble::testing {
namespace {

constexpr std::string_view kClipped = "-clipped";

Selected graph_of(const std::string& name) {
  if (name == "chain") return chain_of(12);
  if (!name.ends_with(kClipped)) return network(name, 4, {16, 16, 3});
  return network(name.substr(0, name.size() - kClipped.size()), 4, {16, 16, 3}, 1.0);
}

struct Searched {
  explicit Searched(const std::string& name) : selected(graph_of(name)) {}

  Selected selected;
  Scheduler scheduler{selected};
  std::vector<FrontPoint> front = search_front(scheduler, {});
};

// Each graph is searched once for all that is asked of it.
const Searched& searched(const std::string& name) {
  static std::map<std::string, std::unique_ptr<Searched>> known;
  std::unique_ptr<Searched>& entry = known[name];
  if (!entry) entry = std::make_unique<Searched>(name);
  return *entry;
}

class EveryGraph : public ::testing::TestWithParam<const char*> {
 protected:
  const Selected& selected = searched(GetParam()).selected;
  const Scheduler& scheduler = searched(GetParam()).scheduler;
  const std::vector<FrontPoint>& front = searched(GetParam()).front;
};

TEST_P(EveryGraph, HasNoPointThatAnotherBeatsOrEquals) {
  ASSERT_GE(front.size(), 3U);
  for (std::size_t i = 1; i < front.size(); ++i) {
    EXPECT_LT(front[i].live_bytes, front[i - 1].live_bytes);
    EXPECT_GT(front[i].seconds, front[i - 1].seconds);
  }
}

TEST_P(EveryGraph, BeginsWithKeepingAllAndEndsBelowEveryNamedStrategy) {
  EXPECT_EQ(front.front().recompute_flops_ratio, 0);
  EXPECT_LE(front.front().seconds, evaluate_all_kept(scheduler, {}).seconds);
  for (const Strategy& strategy : named_strategies(scheduler)) {
    const Evaluation judged = evaluate(scheduler, strategy.holding, {});
    EXPECT_LE(front.back().live_bytes, judged.peak) << strategy.name;
    EXPECT_TRUE(is_matched(front, judged.peak, judged.seconds)) << strategy.name << " is not on or behind the front";
  }
}

TEST_P(EveryGraph, FiguresOfAPointAreThoseOfItsSchedule) {
  for (const FrontPoint& point : front) {
    const Evaluation again = evaluate(scheduler, point.holding, {});
    EXPECT_EQ(again.peak, point.live_bytes);
    EXPECT_EQ(again.seconds, point.seconds);
    EXPECT_EQ(again.recompute_flops_ratio, point.recompute_flops_ratio);
  }
}

TEST_P(EveryGraph, EveryPointIsAProgramThatTheVerifierAccepts) {
  std::vector<Bytes> workspaces;
  for (const Choice& choice : selected.choices) workspaces.push_back(choice.workspace);
  const PhaseToVerify phase{&selected.training, workspaces};
  for (const FrontPoint& point : front) {
    const PhaseSchedule schedule = scheduler.make(point.holding);
    const ScheduledPhase scheduled{&selected, &schedule};
    const PlanSet plans = make_plan_set({&scheduled, 1}, {});
    const std::optional<std::string> fault = find_fault({&phase, 1}, plans);
    EXPECT_FALSE(fault.has_value()) << *fault;
    EXPECT_EQ(plans.phases[0].lower_bound, point.live_bytes);
    EXPECT_LE(static_cast<double>(plans.arena_bytes), 1.03 * static_cast<double>(plans.lower_bound_bytes));
  }
}

TEST_P(EveryGraph, ASmallerBudgetNeverTakesMoreBytesNorLessTime) {
  // As --memory does: the fastest point that fits.
  const auto taken = [&](Bytes budget) {
    return std::find_if(front.begin(), front.end(), [&](const FrontPoint& p) { return p.live_bytes <= budget; });
  };
  auto last = taken(front.front().live_bytes);
  for (Bytes budget = front.front().live_bytes; budget >= front.back().live_bytes; budget -= 4096) {
    const auto point = taken(budget);
    ASSERT_NE(point, front.end());
    EXPECT_LE(point->live_bytes, last->live_bytes);
    EXPECT_GE(point->seconds, last->seconds);
    last = point;
  }
  EXPECT_EQ(taken(front.back().live_bytes - 1), front.end());
}

TEST_P(EveryGraph, IsTheSameEveryTime) {
  const Selected other = graph_of(GetParam());
  const std::vector<FrontPoint> again = search_front(Scheduler(other), {});
  ASSERT_EQ(again.size(), front.size());
  for (std::size_t i = 0; i < front.size(); ++i) {
    EXPECT_EQ(again[i].holding, front[i].holding);
    EXPECT_EQ(again[i].live_bytes, front[i].live_bytes);
    EXPECT_EQ(again[i].seconds, front[i].seconds);
    EXPECT_EQ(again[i].strategy, front[i].strategy);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, EveryGraph,
                         ::testing::Values("chain", "wrn10-1", "wrn10-1-gn", "wrn16-1", "wrn10-1-gn-clipped"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Chains of residual blocks, where every single drop makes something else wait: only changes to several gaps at once
// lead further down.
TEST(DeepSearch, GoesBelowWhatSingleDropsReachAndChangesNothingAbove) {
  const Selected selected = network("resnet56", 32, {32, 32, 3});
  const Scheduler scheduler(selected);
  SearchOptions options;
  options.wanted_bytes = evaluate_all_kept(scheduler, {}).peak;
  const std::vector<FrontPoint> usual = search_front(scheduler, options), whole = search_front(scheduler, {});
  EXPECT_LT(whole.back().live_bytes, usual.back().live_bytes);
  for (std::size_t p = 0; p < whole.size() && whole[p].live_bytes >= usual.back().live_bytes; ++p) {
    EXPECT_EQ(whole[p].live_bytes, usual[p].live_bytes);
    EXPECT_EQ(whole[p].seconds, usual[p].seconds);
  }
  for (const FrontPoint& point : whole) {
    const Evaluation judged = evaluate(scheduler, point.holding, {});
    EXPECT_EQ(judged.peak, point.live_bytes);
    EXPECT_EQ(judged.seconds, point.seconds);
  }
}

}  // namespace
}  // namespace thimble::testing
