// Keep, retain, transient: what each does to the steps, and what no choice may do.
#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include <map>

#include "compile/compile.h"
#include "ir/text.h"
#include "schedule/graphs.h"

namespace thimble::testing {
namespace {

int recomputed(const PhaseSchedule& schedule, NodeId node) {
  return static_cast<int>(std::count_if(schedule.steps.begin(), schedule.steps.end(),
                                        [&](const Step& step) { return step.node == node && step.is_recompute; }));
}

int recomputed_in_all(const PhaseSchedule& schedule) {
  return static_cast<int>(
      std::count_if(schedule.steps.begin(), schedule.steps.end(), [](const Step& step) { return step.is_recompute; }));
}

// Instances are written once, by the step that makes them, before every step that reads them; lifetimes say so.
void expect_instances_sound(const Graph& graph, const PhaseSchedule& schedule) {
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    const auto at = static_cast<std::int32_t>(s);
    const Node& node = graph.node(step.node);
    ASSERT_EQ(schedule.inputs(step).size(), node.inputs.size());
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const Instance& read = schedule.instances[static_cast<std::size_t>(schedule.inputs(step)[k])];
      EXPECT_EQ(read.value, node.inputs[k]);
      EXPECT_TRUE(read.first_step < at || !graph.value(read.value).producer.is_valid()) << graph.value(read.value).name;
      EXPECT_GE(read.last_step, at);
    }
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const Instance& made = schedule.instances[static_cast<std::size_t>(schedule.outputs(step)[k])];
      EXPECT_EQ(made.value, node.outputs[k]);
      EXPECT_EQ(made.first_step, at);
    }
  }
}

// No step, recomputed ones included, reads a persistent value after the step that writes its next version.
void expect_updates_last(const Graph& graph, const PhaseSchedule& schedule) {
  std::map<ValueId, std::size_t> written;
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    const Node& node = graph.node(schedule.steps[s].node);
    for (const ValueId input : node.inputs) {
      EXPECT_FALSE(written.contains(input)) << graph.value(input).name << " is read after its update";
    }
    if (!node.op->is_update) continue;
    for (const InPlacePair& pair : node.op->in_place) {
      if (pair.output < static_cast<int>(node.outputs.size()))
        written[node.inputs[static_cast<std::size_t>(pair.input)]] = s;
    }
  }
  EXPECT_FALSE(written.empty());
}

void expect_every_node_once(const Graph& graph, const PhaseSchedule& schedule) {
  std::vector<int> count(static_cast<std::size_t>(graph.node_count()), 0);
  for (const Step& step : schedule.steps) {
    if (!step.is_recompute) ++count[static_cast<std::size_t>(step.node.index)];
  }
  EXPECT_TRUE(std::all_of(count.begin(), count.end(), [](int n) { return n == 1; }));
}

class LeNet : public ::testing::Test {
 protected:
  NodeId producer(const char* name) const { return graph.value(graph.find(name)).producer; }
  PhaseSchedule with(const std::map<std::string, Keep>& choices) const {
    std::vector<Keep> keep = scheduler.keep_all();
    for (const auto& [name, mode] : choices) keep[static_cast<std::size_t>(graph.find(name).index)] = mode;
    PhaseSchedule schedule = scheduler.make(keep);
    expect_every_node_once(graph, schedule);
    expect_instances_sound(graph, schedule);
    expect_updates_last(graph, schedule);
    return schedule;
  }
  int backward_readers(const char* name) const {
    const std::int32_t loss = graph.value(graph.find("loss")).producer.index;
    int count = 0;
    for (NodeId id{loss + 1}; id.index < graph.node_count(); ++id.index) {
      const std::vector<ValueId>& inputs = graph.node(id).inputs;
      count += std::find(inputs.begin(), inputs.end(), graph.find(name)) != inputs.end() ? 1 : 0;
    }
    return count;
  }

  const Selected selected = training_of("lenet-300-100", 4, {8, 8, 1});
  const Graph& graph = selected.graph();
  const Scheduler scheduler{selected};
};

TEST_F(LeNet, KeepingAllRecomputesNothing) {
  const PhaseSchedule schedule = with({});
  EXPECT_EQ(recomputed_in_all(schedule), 0);
  EXPECT_EQ(schedule.recompute_flops, 0);
  EXPECT_EQ(static_cast<std::int32_t>(schedule.steps.size()), graph.node_count());
}

TEST_F(LeNet, ARetainedValueIsMadeAgainOnceATransientOneForEachReader) {
  ASSERT_EQ(backward_readers("relu1"), 2);  // the rectifier's gradient and the next layer's weight gradient
  EXPECT_EQ(recomputed(with({{"relu1", Keep::retain}}), producer("relu1")), 1);
  EXPECT_EQ(recomputed(with({{"relu1", Keep::transient}}), producer("relu1")), 2);
}

TEST_F(LeNet, WhatAValueIsMadeFromIsMadeAgainFirst) {
  const PhaseSchedule schedule = with({{"fc1", Keep::retain}, {"relu1", Keep::retain}});
  EXPECT_EQ(recomputed(schedule, producer("fc1")), 1);
  EXPECT_EQ(recomputed(schedule, producer("relu1")), 1);
  EXPECT_EQ(recomputed(with({{"fc1", Keep::transient}, {"relu1", Keep::transient}}), producer("fc1")), 2);
}

TEST_F(LeNet, AValueThatBackwardNeverReadsIsNotMadeAgain) {
  ASSERT_EQ(backward_readers("fc1"), 0);
  EXPECT_EQ(recomputed_in_all(with({{"fc1", Keep::transient}})), 0);
}

TEST_F(LeNet, ADroppedValueIsGoneBetweenItsForwardAndItsBackwardUse) {
  const PhaseSchedule schedule = with({{"relu1", Keep::retain}});
  std::vector<Instance> lives;
  for (const Instance& instance : schedule.instances) {
    if (instance.value == graph.find("relu1")) lives.push_back(instance);
  }
  ASSERT_EQ(lives.size(), 2U);
  const auto loss = std::find_if(schedule.steps.begin(), schedule.steps.end(),
                                 [&](const Step& step) { return step.node == producer("loss"); });
  const auto loss_step = static_cast<std::int32_t>(loss - schedule.steps.begin());
  EXPECT_LT(lives[0].last_step, loss_step);
  EXPECT_GT(lives[1].first_step, loss_step);
}

TEST_F(LeNet, TimeAndWorkCountEveryStep) {
  const PhaseSchedule all = with({}), less = with({{"relu1", Keep::transient}, {"fc1", Keep::transient}});
  const Choice &relu = selected.choice(producer("relu1")), &linear = selected.choice(producer("fc1"));
  EXPECT_DOUBLE_EQ(less.recompute_flops, 2 * (relu.flops + linear.flops));
  EXPECT_DOUBLE_EQ(less.flops, all.flops + less.recompute_flops);
  EXPECT_NEAR(less.seconds, all.seconds + 2 * (relu.seconds + linear.seconds), 1e-12);
}

TEST_F(LeNet, EveryCandidateMayBeDropped) {
  for (const ValueId value : scheduler.candidates()) {
    for (const Keep mode : {Keep::retain, Keep::transient}) with({{graph.value(value).name, mode}});
  }
}

TEST_F(LeNet, AnExceptionDropsAValueAfterOneStepOnly) {
  // The rectifier's output is read by the next layer and, in backward, by two steps; kept, it has two gaps.
  Holding holding{scheduler.keep_all()};
  const ValueId relu = graph.find("relu1");
  std::vector<Gap> gaps;
  for (const Gap& gap : scheduler.gaps(holding)) {
    if (gap.value == relu) gaps.push_back(gap);
  }
  ASSERT_GE(gaps.size(), 2U);
  for (const Gap& gap : gaps) {
    EXPECT_TRUE(gap.is_held);
    Holding changed = holding;
    changed.set({relu, gap.after, false});
    const PhaseSchedule schedule = scheduler.make(changed);
    EXPECT_EQ(recomputed(schedule, producer("relu1")), 1);
    expect_instances_sound(graph, schedule);
    expect_updates_last(graph, schedule);
  }
  for (const Gap& gap : gaps) holding.set({relu, gap.after, false});
  EXPECT_EQ(recomputed(scheduler.make(holding), producer("relu1")), static_cast<int>(gaps.size()));
  holding.set_mode(relu, Keep::keep);
  EXPECT_EQ(recomputed_in_all(scheduler.make(holding)), 0);
}

TEST_F(LeNet, AnExceptionHoldsWhatItsModeWouldDrop) {
  Holding holding{scheduler.keep_all()};
  const ValueId relu = graph.find("relu1");
  holding.mode(relu) = Keep::transient;
  const int often = recomputed(scheduler.make(holding), producer("relu1"));
  for (const Gap& gap : scheduler.gaps(holding)) {
    if (gap.value == relu && !gap.is_held) holding.set({relu, gap.after, true});
  }
  EXPECT_EQ(often, 2);
  EXPECT_EQ(recomputed(scheduler.make(holding), producer("relu1")), 0);
}

TEST(Schedules, OfRandomChoicesAreSound) {
  for (const char* model : {"wrn10-1", "wrn10-1-gn", "resnet18"}) {
    const Selected selected = training_of(model, 2, {8, 8, 3});
    const Scheduler scheduler(selected);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      Holding holding{scheduler.keep_all()};
      const RandomKey key = random_key(seed, RandomPurpose::test, 1);
      for (const ValueId value : scheduler.candidates()) {
        const auto draw = random_below(key, static_cast<std::uint64_t>(value.index), 3);
        holding.mode(value) = static_cast<Keep>(draw);
      }
      if (seed % 2 == 1) {
        std::uint64_t draws = 0;
        for (const Gap& gap : scheduler.gaps(holding)) {
          if (random_below(key, 1'000'000 + draws++, 3) == 0) holding.set({gap.value, gap.after, !gap.is_held});
        }
      }
      const PhaseSchedule schedule = scheduler.make(holding);
      expect_every_node_once(selected.graph(), schedule);
      expect_instances_sound(selected.graph(), schedule);
      expect_updates_last(selected.graph(), schedule);
    }
  }
}

// What makes its own gradient reads the norm's parameters, and waits here for a second reader of the weights.
constexpr std::string_view kJoinedUpdate = R"(input images : f32[1,2,2,8]
parameter w : f32[3,3,8,8]
parameter gamma : f32[8]
parameter beta : f32[8]
parameter bias : f32[8]
mean, rstd : f32[8], f32[8] = batch_moments(images)
y : f32[1,2,2,8] = norm_conv2d(images, mean, rstd, gamma, beta, w) {padding=1}
z : f32[1,2,2,8] = conv2d(images, w) {padding=1}
loss : f32[8] = channel_sum(z)
gradient dy : f32[1,2,2,8] = relu_grad(y, z)
parameter next/w : f32[3,3,8,8] = norm_conv2d_update_weight(w, images, mean, rstd, gamma, beta, dy) {padding=1, rule=sgd}
gradient dgamma : f32[8] = channel_sum(dy)
parameter next/gamma : f32[8] = sgd_update(gamma, dgamma)
gradient a : f32[1,2,2,8] = relu_grad(dy, dy)
gradient b : f32[1,2,2,8] = relu_grad(a, a)
gradient late : f32[1,2,2,8] = relu_grad(z, b)
gradient dbias : f32[8] = channel_sum(late)
parameter next/bias : f32[8] = sgd_update(bias, dbias)
)";

TEST(Schedules, AnUpdateThatWaitsIsWaitedForByThoseOfWhatItReads) {
  const Selected selected = select_references({{.samples = 1}, parse_graph(kJoinedUpdate, op_table())});
  const Graph& graph = selected.graph();
  const Scheduler scheduler(selected);
  std::vector<Keep> keep = scheduler.keep_all();
  const ValueId z = graph.find("z");
  keep[static_cast<std::size_t>(z.index)] = Keep::transient;
  const PhaseSchedule schedule = scheduler.make(keep);
  expect_every_node_once(graph, schedule);
  expect_updates_last(graph, schedule);
  const auto place_of = [&](NodeId node) {
    return std::find_if(schedule.steps.rbegin(), schedule.steps.rend(),
                        [&](const Step& step) { return step.node == node; });
  };
  EXPECT_GE(recomputed(schedule, graph.value(z).producer), 2);
  EXPECT_LT(place_of(graph.value(graph.find("next/w")).producer), place_of(graph.value(z).producer))
      << "the update did not wait";
}

TEST(Phases, MicrobatchLoopsAreNotUnrolled) {
  const auto phases_for = [](std::int64_t batch) {
    CompileRequest request;
    request.model = {.name = "wrn10-1-gn", .sample = {8, 8, 3}};
    request.batch = batch;
    request.microbatch = 4;
    request.target = {Isa::generic, 1};
    return std::move(compile(request, op_table(), cpu_kernels()).compiled->plans);
  };
  const PlanSet few = phases_for(12), many = phases_for(400), ragged = phases_for(402);
  ASSERT_EQ(few.phases.size(), 3U);
  ASSERT_EQ(many.phases.size(), 3U);
  EXPECT_EQ(ragged.phases.size(), 4U);
  for (std::size_t p = 0; p < 3; ++p) EXPECT_EQ(few.phases[p].steps.size(), many.phases[p].steps.size());
  EXPECT_EQ(few.arena_bytes, many.arena_bytes);
}

}  // namespace
}  // namespace thimble::testing
