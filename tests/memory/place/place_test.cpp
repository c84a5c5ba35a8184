#include "memory/place/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "memory/place/cases.h"
#include "memory/place/check.h"
#include "memory/place/lower_bound.h"
#include "memory/place/optimum.h"
#include "memory/place/strategies.h"

namespace thimble {

namespace {

using Strategy = Placement (*)(std::span<const Request>);
using Family = std::vector<Request> (*)(int, std::uint64_t);

Placement place_by_ejection_alone(std::span<const Request> requests) {
  return place_by_ejection(requests, place_by_area(requests), 0);
}

struct NamedFamily {
  const char* name;
  Family make;
};

constexpr NamedFamily kFamilies[] = {
    {"random", random_case},     {"nested", nested_case},       {"chain", chain_case},
    {"equal", equal_size_case},  {"sparse", sparse_case},       {"crowded", crowded_case},
    {"training", training_case}, {"recompute", recompute_case}, {"budgeted", budgeted_case},
};

constexpr Strategy kStrategies[] = {place_by_lifetime, place_by_size, place_by_area,          place_first_fit,
                                    place_best_fit,    place,         place_by_ejection_alone};

void expect_sound(std::span<const Request> requests, const Placement& placement) {
  const auto fault = find_fault(requests, placement);
  EXPECT_FALSE(fault) << placement.strategy << ": " << *fault;
  EXPECT_GE(placement.bytes, lower_bound(requests)) << placement.strategy;
  EXPECT_EQ(placement.bytes % kAlignment, 0) << placement.strategy;
  EXPECT_FALSE(placement.strategy.empty());
}

// Mean and largest of bytes / lower bound over many instances; recorded with the test's result.
struct Ratios {
  double sum = 0, worst = 0;
  int count = 0;

  void add(Bytes found, Bytes wanted) {
    const double ratio = wanted == 0 ? 1.0 : static_cast<double>(found) / static_cast<double>(wanted);
    sum += ratio;
    worst = std::max(worst, ratio);
    ++count;
  }
  double mean() const { return sum / count; }
  void record() const {
    testing::Test::RecordProperty("mean", std::to_string(mean()));
    testing::Test::RecordProperty("worst", std::to_string(worst));
  }
};

Ratios ratios_to_lower_bound(Family make, int size, int instance_count) {
  Ratios ratios;
  for (int seed = 0; seed < instance_count; ++seed) {
    const std::vector<Request> requests = make(size, static_cast<std::uint64_t>(seed));
    const Placement placement = place(requests);
    expect_sound(requests, placement);
    ratios.add(placement.bytes, lower_bound(requests));
  }
  ratios.record();
  return ratios;
}

}  // namespace

TEST(Place, OfNothingTakesNothing) {
  for (const Strategy strategy : kStrategies) {
    EXPECT_EQ(strategy({}).bytes, 0);
    EXPECT_TRUE(strategy({}).offsets.empty());
  }
}

TEST(Place, OfZeroBytesTakesNothing) {
  const std::vector<Request> requests = {{.bytes = 0, .first_step = 0, .last_step = 3},
                                         {.bytes = 0, .first_step = 1, .last_step = 1}};
  for (const Strategy strategy : kStrategies) {
    EXPECT_EQ(strategy(requests).bytes, 0);
    EXPECT_EQ(strategy(requests).offsets, (std::vector<Bytes>{0, 0}));
  }
}

TEST(Place, TakesStepsOfAnySign) {
  const std::vector<Request> requests = {{.bytes = 64, .first_step = -2'000'000'000, .last_step = 2'000'000'000},
                                         {.bytes = 64, .first_step = -7, .last_step = -7},
                                         {.bytes = 64, .first_step = -6, .last_step = 2'000'000'000}};
  for (const Strategy strategy : kStrategies) EXPECT_EQ(strategy(requests).bytes, 128);
}

TEST(Place, LaysNestedLifetimesAsAStack) {
  const std::vector<Request> requests = {{.bytes = 64, .first_step = 2, .last_step = 3},
                                         {.bytes = 64, .first_step = 0, .last_step = 5},
                                         {.bytes = 64, .first_step = 1, .last_step = 4}};
  const Placement placement = place(requests);
  EXPECT_EQ(placement.offsets, (std::vector<Bytes>{128, 0, 64}));
  EXPECT_EQ(placement.strategy, "by lifetime");
}

TEST(Place, RefusesUnsoundRequests) {
  const std::vector<Request> requests = {{.bytes = 64, .first_step = 2, .last_step = 1}};
  EXPECT_ANY_THROW(place(requests));
}

TEST(Place, EveryStrategyIsSoundOnEveryFamily) {
  for (const NamedFamily& family : kFamilies) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const std::vector<Request> requests = family.make(static_cast<int>(1 + seed / 2), seed);
      SCOPED_TRACE(testing::Message() << family.name << " seed " << seed);
      for (const Strategy strategy : kStrategies) expect_sound(requests, strategy(requests));
    }
  }
}

TEST(Place, IsNeverWorseThanAnyStrategyAlone) {
  for (const NamedFamily& family : kFamilies) {
    for (std::uint64_t seed = 100; seed < 130; ++seed) {
      const std::vector<Request> requests = family.make(25, seed);
      const Bytes placed = place(requests).bytes;
      for (const Strategy strategy : std::span(kStrategies).first(5)) EXPECT_LE(placed, strategy(requests).bytes);
    }
  }
}

TEST(Place, EveryCheapStrategyIsSoundOnTwentyThousandRequests) {
  const std::vector<Request> requests = training_case(1250, 1);
  ASSERT_GE(requests.size(), 20'000U);
  for (const Strategy strategy : std::span(kStrategies).first(5)) expect_sound(requests, strategy(requests));
  EXPECT_EQ(place(requests).bytes, lower_bound(requests));
}

TEST(Place, GivesTheSameTwice) {
  for (const NamedFamily& family : kFamilies) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const std::vector<Request> requests = family.make(80, seed);
      const Placement first = place(requests), second = place(requests);
      EXPECT_EQ(first.offsets, second.offsets) << family.name << " seed " << seed;
      EXPECT_EQ(first.strategy, second.strategy);
    }
  }
}

TEST(Place, IsContentWithEnoughButMeetsItWhereItCan) {
  int spared_count = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<Request> requests = budgeted_case(40, seed);
    const Bytes bound = lower_bound(requests), enough = bound + bound / 50 + 1;
    const Placement placement = place(requests, enough);
    expect_sound(requests, placement);
    EXPECT_LE(placement.bytes, enough) << "seed " << seed;
    if (placement.bytes > bound) ++spared_count;
  }
  EXPECT_GT(spared_count, 5) << "what is enough should save work";
}

TEST(Ejection, IsNeverWorseThanItsStartAndKeepsAPerfectOne) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<Request> requests = random_case(60, seed);
    const Placement start = place_first_fit(requests);
    const Placement improved = place_by_ejection(requests, start, 0);
    EXPECT_LE(improved.bytes, start.bytes);
    EXPECT_EQ(improved.strategy, improved.bytes == start.bytes ? "first fit" : "ejection");
  }
}

TEST(Place, MeetsTheOptimumOfSmallCases) {
  Ratios ratios;
  for (const NamedFamily& family : kFamilies) {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
      std::vector<Request> requests = family.make(7, seed);
      if (requests.size() > 7) requests.resize(7);  // what is left of a network is as good a case as any
      ratios.add(place(requests).bytes, optimum(requests));
    }
  }
  ratios.record();
  EXPECT_LE(ratios.worst, 1.002) << "the tolerance below which the costly strategy does not run";
}

TEST(Place, TrainingIsWithinTwoPercentOfTheLowerBound) {
  EXPECT_LE(ratios_to_lower_bound(training_case, 12, 300).worst, 1.02);
  EXPECT_LE(ratios_to_lower_bound(training_case, 50, 40).worst, 1.02);
}

TEST(Place, TrainingWithRecomputationIsWithinTwoPercentOfTheLowerBound) {
  EXPECT_LE(ratios_to_lower_bound(recompute_case, 12, 300).worst, 1.02);
  EXPECT_LE(ratios_to_lower_bound(recompute_case, 50, 40).worst, 1.02);
}

TEST(Place, ABudgetedScheduleIsWithinTwoPercentOfTheLowerBound) {
  EXPECT_LE(ratios_to_lower_bound(budgeted_case, 20, 300).worst, 1.02);
  EXPECT_LE(ratios_to_lower_bound(budgeted_case, 100, 40).worst, 1.02);
  EXPECT_LE(ratios_to_lower_bound(budgeted_case, 300, 5).worst, 1.02);
}

TEST(Place, RandomRequestsAreWithinOnePercentOfTheLowerBoundOnAverage) {
  EXPECT_LE(ratios_to_lower_bound(random_case, 30, 300).mean(), 1.01);
  EXPECT_LE(ratios_to_lower_bound(random_case, 200, 10).mean(), 1.01);
  EXPECT_LE(ratios_to_lower_bound(crowded_case, 30, 100).mean(), 1.01);
  EXPECT_LE(ratios_to_lower_bound(chain_case, 200, 20).mean(), 1.01);
}

}  // namespace thimble
