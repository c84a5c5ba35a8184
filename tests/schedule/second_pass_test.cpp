// Gradients that wait for the norm of all are kept or made again; either way every update comes behind the norm, and no
// step reads a parameter that has moved on.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "memory/buffers.h"
#include "schedule/graphs.h"
#include "schedule/transfers.h"

namespace thimble::testing {
namespace {

Selected clipped(const std::string& model, const Phase& phase = {.samples = 4}) {
  ModelSpec spec{.name = model, .samples = phase.samples, .sample = {8, 8, 3}, .classes = 5};
  DifferentiateOptions options;
  options.optimizer.clip_norm = 1;
  return select_references(differentiate(build_model(spec, op_table()).graph, phase, options));
}

class SecondPass : public ::testing::Test {
 protected:
  std::vector<Keep> dropping_all() const {
    std::vector<Keep> keep = scheduler.keep_all();
    for (const ValueId value : scheduler.waiting_gradients()) drop(keep, value);
    return keep;
  }
  static void drop(std::vector<Keep>& keep, ValueId value) {
    keep[static_cast<std::size_t>(value.index)] = Keep::retain;
  }
  std::size_t place_of_norm(const PhaseSchedule& schedule) const {
    for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
      if (graph.node(schedule.steps[s].node).op->ends_first_pass) return s;
    }
    return schedule.steps.size();
  }

  const Selected selected = clipped("wrn10-1-gn");
  const Graph& graph = selected.graph();
  const Scheduler scheduler{selected};
};

TEST_F(SecondPass, EveryParametersGradientWaits) {
  std::size_t parameters = 0;
  for (ValueId id{0}; id.index < graph.value_count(); ++id.index) {
    parameters += graph.value(id).role == Role::parameter && !graph.value(id).producer.is_valid() ? 1 : 0;
  }
  EXPECT_EQ(scheduler.waiting_gradients().size(), parameters);
}

TEST_F(SecondPass, WithoutClippingNothingWaits) {
  const Selected plain = training_of("wrn10-1-gn", 4, {8, 8, 3});
  EXPECT_TRUE(Scheduler(plain).waiting_gradients().empty());
}

TEST_F(SecondPass, AccumulatorsHoldWhatWouldWait) {
  const Selected last = clipped("wrn10-1-gn", {.samples = 4, .opens = false});
  EXPECT_TRUE(Scheduler(last).waiting_gradients().empty());
}

TEST_F(SecondPass, KeepingAllRecomputesNothingAndUpdatesComeLast) {
  const PhaseSchedule schedule = scheduler.make(scheduler.keep_all());
  EXPECT_EQ(schedule.recompute_flops, 0);
  const std::size_t norm = place_of_norm(schedule);
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    EXPECT_FALSE(schedule.steps[s].is_recompute);
    EXPECT_TRUE(s <= norm || graph.node(schedule.steps[s].node).op->is_update);
  }
}

TEST_F(SecondPass, SpilledGradientsAreLoadedForTheirUpdatesAndNotMadeAgain) {
  std::vector<Keep> keep = scheduler.keep_all();
  for (const ValueId value : scheduler.waiting_gradients()) keep[static_cast<std::size_t>(value.index)] = Keep::spill;
  PhaseSchedule schedule = scheduler.make(keep);
  EXPECT_EQ(schedule.recompute_flops, 0);
  add_transfers(selected, {}, schedule);
  std::map<std::int32_t, int> stores, loads;
  for (const Transfer& transfer : schedule.transfers) {
    const ValueId value = schedule.instances[static_cast<std::size_t>(transfer.instance)].value;
    ++(transfer.direction == Direction::load ? loads : stores)[value.index];
  }
  for (const ValueId value : scheduler.waiting_gradients()) {
    EXPECT_EQ(stores[value.index], 1) << graph.value(value).name;
    EXPECT_EQ(loads[value.index], 1) << graph.value(value).name;
  }
}

TEST_F(SecondPass, WhatItReadsFromTheSpillFileIsStoredOnceAndLoadedForEachPass) {
  std::vector<Keep> keep = dropping_all();
  for (const ValueId value : scheduler.candidates()) keep[static_cast<std::size_t>(value.index)] = Keep::spill;
  PhaseSchedule schedule = scheduler.make(keep);
  add_transfers(selected, {}, schedule);
  std::vector<int> stores(schedule.slots.size(), 0), loads(schedule.slots.size(), 0);
  for (const Transfer& transfer : schedule.transfers)
    ++(transfer.direction == Direction::load ? loads : stores)[static_cast<std::size_t>(transfer.slot)];
  for (const int count : stores) EXPECT_EQ(count, 1);
  EXPECT_EQ(*std::max_element(loads.begin(), loads.end()), 2);
  EXPECT_GE(*std::min_element(loads.begin(), loads.end()), 1);
}

TEST_F(SecondPass, DroppingAllMakesEveryGradientTwiceAndTheForwardPassOnce) {
  const PhaseSchedule schedule = scheduler.make(dropping_all());
  std::map<std::int32_t, int> again;
  for (const Step& step : schedule.steps) again[step.node.index] += step.is_recompute ? 1 : 0;
  for (const ValueId value : scheduler.waiting_gradients()) {
    EXPECT_EQ(again[graph.value(value).producer.index], 1) << graph.value(value).name;
  }
  for (const ValueId value : scheduler.candidates()) EXPECT_EQ(again[graph.value(value).producer.index], 0);
}

TEST_F(SecondPass, DroppedGradientsDieAtTheirNorm) {
  const PhaseSchedule schedule = scheduler.make(dropping_all());
  const std::size_t norm = place_of_norm(schedule);
  for (const Instance& instance : schedule.instances) {
    if (graph.value(instance.value).role != Role::gradient || graph.value(instance.value).type.shape.count() == 1)
      continue;
    const bool spans =
        instance.first_step < static_cast<std::int32_t>(norm) && instance.last_step > static_cast<std::int32_t>(norm);
    EXPECT_FALSE(spans) << graph.value(instance.value).name;
  }
}

// Three matrices and hardly any activations: kept, all gradients are there at once, dropped, one at a time.
TEST(SecondPasses, HoldOneGradientAtATime) {
  const Selected selected = clipped("lenet-300-100");
  const Scheduler scheduler(selected);
  const auto peak_with = [&](Keep mode) {
    std::vector<Keep> keep = scheduler.keep_all();
    for (const ValueId value : scheduler.waiting_gradients()) keep[static_cast<std::size_t>(value.index)] = mode;
    const PhaseSchedule schedule = scheduler.make(keep);
    const std::vector<Bytes> live = live_bytes(make_buffers(selected, schedule, {}), schedule.steps.size());
    return *std::max_element(live.begin(), live.end());
  };
  Bytes all = 0, largest = 0;
  for (const ValueId value : scheduler.waiting_gradients()) {
    const Bytes bytes = selected.graph().value(value).type.bytes();
    all += bytes;
    largest = std::max(largest, bytes);
  }
  ASSERT_GT(all, largest + largest / 4);
  EXPECT_GE(peak_with(Keep::keep), all);
  EXPECT_LE(static_cast<double>(peak_with(Keep::retain)), 1.1 * static_cast<double>(largest));
}

TEST_F(SecondPass, GoesNoFurtherThanDroppedGradientsAsk) {
  // Only the classifier's gradient is dropped: it is the first that backward makes.
  std::vector<Keep> keep = scheduler.keep_all();
  const ValueId waiting = scheduler.waiting_gradients().front();
  drop(keep, waiting);
  const PhaseSchedule schedule = scheduler.make(keep), all = scheduler.make(dropping_all());
  EXPECT_GT(schedule.recompute_flops, 0);
  EXPECT_LT(schedule.recompute_flops, 0.2 * all.recompute_flops);
}

TEST(SecondPasses, OfRandomChoicesReadNoParameterThatMovedOn) {
  for (const char* model : {"wrn10-1", "wrn10-1-gn", "lenet-300-100"}) {
    const Selected selected = clipped(model);
    const Graph& graph = selected.graph();
    const Scheduler scheduler(selected);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      std::vector<Keep> keep = scheduler.keep_all();
      const RandomKey key = random_key(seed, RandomPurpose::test, 1);
      for (const std::vector<ValueId>& values : {scheduler.candidates(), scheduler.waiting_gradients()}) {
        for (const ValueId value : values) {
          keep[static_cast<std::size_t>(value.index)] =
              static_cast<Keep>(random_below(key, static_cast<std::uint64_t>(value.index), 3));
        }
      }
      const PhaseSchedule schedule = scheduler.make(keep);
      std::vector<bool> has_moved(static_cast<std::size_t>(graph.value_count()), false);
      std::size_t originals = 0, updates = 0;
      for (const Step& step : schedule.steps) {
        const Node& node = graph.node(step.node);
        originals += step.is_recompute ? 0 : 1;
        for (const ValueId input : node.inputs) ASSERT_FALSE(has_moved[static_cast<std::size_t>(input.index)]) << model;
        if (!node.op->is_update) continue;
        ++updates;
        for (const InPlacePair& pair : node.op->in_place) {
          if (pair.output < static_cast<int>(node.outputs.size()))
            has_moved[static_cast<std::size_t>(node.inputs[static_cast<std::size_t>(pair.input)].index)] = true;
        }
      }
      EXPECT_EQ(originals, static_cast<std::size_t>(graph.node_count()));
      EXPECT_GE(updates, scheduler.waiting_gradients().size());
    }
  }
}

}  // namespace
}  // namespace thimble::testing
