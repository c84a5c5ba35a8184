// Where transfers stand among the steps: loaded before use, stored after the last write, ahead by as much as allowed.
#include "schedule/transfers.h"

#include <gtest/gtest.h>

#include <set>

#include "schedule/graphs.h"

namespace thimble::testing {
namespace {

class Transfers : public ::testing::Test {
 protected:
  Transfers() : selected_(training_of("wrn10-1-gn", 2, {8, 8, 3})), scheduler_(selected_) {}

  const Graph& graph() const { return selected_.graph(); }

  Offload homes(int ahead, double bytes_per_second = 500e6) const {
    return {.homes = spillable_values(graph()), .ahead = ahead, .bytes_per_second = bytes_per_second};
  }

  PhaseSchedule make(const std::vector<Keep>& keep, const Offload& offload) const {
    PhaseSchedule schedule = scheduler_.make(keep);
    add_transfers(selected_, offload, schedule);
    return schedule;
  }

  // Steps between the start and the wait of each transfer.
  static std::vector<int> distances(const PhaseSchedule& schedule) {
    std::vector<int> started(schedule.transfers.size(), -1), result(schedule.transfers.size(), -1);
    int runs = 0;
    for (const Step& step : schedule.steps) {
      if (step.kind == StepKind::run) {
        ++runs;
      } else if (step.kind == StepKind::start) {
        started[static_cast<std::size_t>(step.transfer)] = runs;
      } else {
        result[static_cast<std::size_t>(step.transfer)] = runs - started[static_cast<std::size_t>(step.transfer)];
      }
    }
    return result;
  }

  Selected selected_;
  Scheduler scheduler_;
};

TEST_F(Transfers, AreNoneWhereNothingIsSpilled) {
  PhaseSchedule schedule = scheduler_.make(scheduler_.keep_all());
  const std::size_t steps = schedule.steps.size();
  const double seconds = schedule.seconds;
  add_transfers(selected_, {}, schedule);
  EXPECT_EQ(schedule.steps.size(), steps);
  EXPECT_TRUE(schedule.transfers.empty());
  EXPECT_EQ(schedule.seconds, seconds);
}

TEST_F(Transfers, LoadEveryHomeAndStoreWhatWasWritten) {
  const PhaseSchedule schedule = make(scheduler_.keep_all(), homes(0));
  std::set<ValueId> loaded, stored;
  for (const Transfer& transfer : schedule.transfers) {
    const SpillSlot& slot = schedule.slots[static_cast<std::size_t>(transfer.slot)];
    EXPECT_TRUE(slot.is_home);
    (transfer.direction == Direction::load ? loaded : stored).insert(slot.value);
  }
  std::set<ValueId> wanted;
  const std::vector<bool> is_spillable = spillable_values(graph());
  for (std::int32_t v = 0; v < graph().value_count(); ++v) {
    if (is_spillable[static_cast<std::size_t>(v)]) wanted.insert(ValueId{v});
  }
  ASSERT_FALSE(wanted.empty());
  EXPECT_EQ(loaded, wanted);
  EXPECT_EQ(stored, wanted) << "an iteration updates parameters and momentum alike";
}

TEST_F(Transfers, AreWaitedForAtOnceWithoutLookAhead) {
  for (const int distance : distances(make(scheduler_.keep_all(), homes(0)))) EXPECT_EQ(distance, 0);
}

TEST_F(Transfers, GoNoFurtherAheadThanAllowed) {
  constexpr int kAhead = 3;
  // So slow that every transfer would like to start long before.
  const PhaseSchedule schedule = make(scheduler_.keep_all(), homes(kAhead, 1e3));
  const std::vector<int> found = distances(schedule);
  EXPECT_EQ(*std::max_element(found.begin(), found.end()), kAhead);
  EXPECT_GE(*std::min_element(found.begin(), found.end()), 0) << "every transfer is waited for";
}

TEST_F(Transfers, CostNothingIfTheyAreHiddenAndAllTheirTimeIfNot) {
  const double compute = scheduler_.make(scheduler_.keep_all()).seconds;
  EXPECT_NEAR(make(scheduler_.keep_all(), homes(8, 1e15)).seconds, compute, compute * 1e-6);
  const PhaseSchedule waits = make(scheduler_.keep_all(), homes(0, 1e6));
  Bytes moved = 0;
  for (const Transfer& transfer : waits.transfers)
    moved += graph().value(waits.instances[static_cast<std::size_t>(transfer.instance)].value).type.bytes();
  EXPECT_NEAR(waits.seconds, compute + static_cast<double>(moved) / 1e6, waits.seconds * 1e-9);
  EXPECT_LT(make(scheduler_.keep_all(), homes(8, 1e6)).seconds, waits.seconds);
}

TEST_F(Transfers, BringBackAnActivationForBackward) {
  std::vector<Keep> keep = scheduler_.keep_all();
  int spilled = 0;
  for (const ValueId value : scheduler_.candidates()) {
    if (graph().value(value).type.bytes() < 4096) continue;
    keep[static_cast<std::size_t>(value.index)] = Keep::spill;
    ++spilled;
  }
  const PhaseSchedule schedule = make(keep, {.homes = {}, .ahead = 2});
  EXPECT_GT(schedule.slots.size(), 3U);
  EXPECT_LE(schedule.slots.size(), static_cast<std::size_t>(spilled));
  for (const SpillSlot& slot : schedule.slots) {
    EXPECT_FALSE(slot.is_home);
    EXPECT_LT(slot.first_step, slot.last_step);
  }
  EXPECT_EQ(schedule.recompute_flops, 0);
  // Whoever reads a loaded instance does so after its wait.
  std::set<std::int32_t> on_their_way;
  for (const Step& step : schedule.steps) {
    if (step.kind == StepKind::run) {
      for (const std::int32_t input : schedule.inputs(step)) EXPECT_FALSE(on_their_way.contains(input));
      continue;
    }
    const Transfer& transfer = schedule.transfers[static_cast<std::size_t>(step.transfer)];
    if (transfer.direction == Direction::store) continue;
    if (step.kind == StepKind::start) on_their_way.insert(transfer.instance);
    if (step.kind == StepKind::wait) on_their_way.erase(transfer.instance);
  }
  EXPECT_TRUE(on_their_way.empty());
}

}  // namespace
}  // namespace thimble::testing
