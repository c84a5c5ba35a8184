// Chains of equal layers, where the literature says what is possible: n kept values without recomputation, about
// 2 sqrt(n) for one more forward pass (Chen et al. 2016), less still for more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "search/networks.h"

namespace thimble::testing {
namespace {

double forward_flops(const Selected& selected) {
  double flops = 0;
  for (NodeId id{0}; id <= selected.graph().value(selected.graph().find(kLoss)).producer; ++id.index)
    flops += selected.choice(id).flops;
  return flops;
}

// Peak in units of one layer's output.
double layers_at_peak(const Evaluation& evaluation) {
  return static_cast<double>(evaluation.peak) / static_cast<double>(kLayerBytes);
}

// Beside what a bound counts: the gradient that comes and the one that goes, the input, and all small tensors.
constexpr double kSlackLayers = 3.5;

TEST(Chain, KeepingAllHoldsEveryLayer) {
  for (const int layers : {4, 9, 16, 36}) {
    const Selected selected = chain_of(layers);
    const Scheduler scheduler(selected);
    const double peak = layers_at_peak(evaluate_all_kept(scheduler, {}));
    EXPECT_GE(peak, layers);
    EXPECT_LE(peak, layers + kSlackLayers);
  }
}

TEST(Chain, BlocksOfKHoldNOverKAndKForOneMoreForwardPass) {
  for (const int layers : {16, 36, 64}) {
    const Selected selected = chain_of(layers);
    const Scheduler scheduler(selected);
    const double once = forward_flops(selected);
    int found = 0;
    for (const Strategy& strategy : named_strategies(scheduler)) {
      for (const int k : {2, 3, 4, 6, 8}) {
        if (strategy.name != "block " + std::to_string(k)) continue;
        ++found;
        EXPECT_LE(layers_at_peak(evaluate(scheduler, strategy.holding, {})), layers / k + k + kSlackLayers)
            << layers << " layers, " << strategy.name;
        EXPECT_LE(scheduler.make(strategy.holding).recompute_flops, once) << layers << " layers, " << strategy.name;
      }
    }
    EXPECT_EQ(found, 5);
  }
}

TEST(Chain, TheFrontReachesTwiceTheRootOfNForOneMoreForwardPass) {
  for (const int layers : {16, 36}) {
    const Selected selected = chain_of(layers);
    const Scheduler scheduler(selected);
    const double once = forward_flops(selected);
    Bytes least = evaluate_all_kept(scheduler, {}).peak;
    for (const FrontPoint& point : search_front(scheduler, {})) {
      if (scheduler.make(point.holding).recompute_flops <= once) least = std::min(least, point.live_bytes);
    }
    EXPECT_LE(static_cast<double>(least), (2 * std::sqrt(layers) + kSlackLayers) * kLayerBytes) << layers;
  }
}

TEST(Chain, SegmentsInSegmentsHoldTheLogarithmForNLogNLayers) {
  for (const int layers : {8, 16, 32, 64, 128}) {
    const Selected selected = chain_of(layers);
    const Scheduler scheduler(selected);
    const std::vector<Strategy> strategies = named_strategies(scheduler, Recompute::chen);
    const auto recursive = std::find_if(strategies.begin(), strategies.end(),
                                        [](const Strategy& s) { return s.name == "chen recursive 1"; });
    ASSERT_NE(recursive, strategies.end());
    EXPECT_LE(layers_at_peak(evaluate(scheduler, recursive->holding, {})), std::log2(layers) + kSlackLayers) << layers;
    // n log2 n layers in all, the first forward pass included.
    EXPECT_LE(scheduler.make(recursive->holding).recompute_flops, forward_flops(selected) * (std::log2(layers) - 1))
        << layers;
  }
}

TEST(Chain, TheFrontReachesTheLogarithmForNLogNLayers) {
  for (const int layers : {8, 16, 32}) {
    const Selected selected = chain_of(layers);
    const Scheduler scheduler(selected);
    const double most = forward_flops(selected) * (std::log2(layers) - 1);
    Bytes least = evaluate_all_kept(scheduler, {}).peak;
    for (const FrontPoint& point : search_front(scheduler, {})) {
      if (scheduler.make(point.holding).recompute_flops <= most) least = std::min(least, point.live_bytes);
    }
    EXPECT_LE(static_cast<double>(least), (std::log2(layers) + kSlackLayers) * kLayerBytes) << layers;
  }
}

}  // namespace
}  // namespace thimble::testing
