// Transfers spoiled in one known way: each is refused, and the message says why.
#include "memory/verify/small_plans.h"

namespace thimble::testing {
namespace {

constexpr Bytes kFile = 4096;  // a block of the spill file, and all the staging there is

Place behind_staging(Bytes index) { return {kFile + index * kBlock, kBlock}; }
PlannedStep start(int transfer) { return {.node = {}, .in = {}, .out = {}, .workspace = {}, .starts = transfer}; }
PlannedStep wait(int transfer) { return {.node = {}, .in = {}, .out = {}, .workspace = {}, .waits = transfer}; }

// One layer whose weight and momentum live in the spill file.
//
//   arena: staging | 0 images   1 weight   2 y   3 g   4 momentum        file: 0 weight   1 momentum
inline SmallPlan spilled_plan() {
  Graph g(op_table());
  const Type square{DType::f32, {4, 4}};
  const ValueId images = g.add_source("images", square, Role::input);
  const ValueId weight = g.add_source("weight", square, Role::parameter);
  const ValueId momentum = g.add_source("momentum", square, Role::optimizer);
  const ValueId y = g.apply("linear", {images, weight}, {}, "y");
  const ValueId gradient = g.apply("matmul", {images, y}, {{"transpose_a", std::int64_t{1}}}, "g", Role::gradient);
  const NodeId update =
      g.add_node("momentum_update", {weight, momentum, gradient}, {{"momentum", 0.9}}, "next", Role::parameter);
  g.value(g.node(update).outputs[1]).role = Role::optimizer;

  SmallPlan plan{{{.samples = 4}, std::move(g)}, {0, 0, 0}, {}};
  plan.set.persistents = {{"weight", Role::parameter, square, {0, kBlock}, Space::spill},
                          {"momentum", Role::optimizer, square, {kFile, kBlock}, Space::spill}};
  plan.set.staging = {0, kFile};
  plan.set.persistent_bytes = kFile;
  plan.set.arena_bytes = kFile + 5 * kBlock;
  plan.set.spill_bytes = 2 * kFile;
  PhasePlan phase{.phase = plan.training.phase, .steps = {}, .buffers = {}, .inputs = {{images, behind_staging(0)}}};
  phase.transfers = {{Direction::load, weight, behind_staging(1), {0, kBlock}},
                     {Direction::load, momentum, behind_staging(4), {kFile, kBlock}},
                     {Direction::store, weight, behind_staging(1), {0, kBlock}},
                     {Direction::store, momentum, behind_staging(4), {kFile, kBlock}}};
  const auto at = behind_staging;
  phase.steps = {start(0),
                 wait(0),
                 {NodeId{0}, false, {at(0), at(1)}, {at(2)}, {}},
                 start(1),
                 {NodeId{1}, false, {at(0), at(2)}, {at(3)}, {}},
                 wait(1),
                 {NodeId{2}, false, {at(1), at(4), at(3)}, {at(1), at(4)}, {}},
                 start(2),
                 start(3),
                 wait(2),
                 wait(3)};
  for (Bytes b = 0; b < 5; ++b) {
    phase.buffers.push_back(
        {.name = "b" + std::to_string(b), .place = at(b), .first_step = 0, .last_step = 10, .values = {}});
  }
  phase.transient_bytes = 5 * kBlock;
  plan.set.phases.push_back(std::move(phase));
  return plan;
}

void erase_step(SmallPlan& plan, std::ptrdiff_t step) { plan.phase().steps.erase(plan.phase().steps.begin() + step); }

TEST(VerifyTransfers, AcceptsWhatIsWaitedFor) { EXPECT_EQ(spilled_plan().fault(), std::nullopt); }

TEST(VerifyTransfers, RefusesAnInputThatIsStillOnItsWay) {
  SmallPlan plan = spilled_plan();
  erase_step(plan, 1);
  expect_refused(plan, "an input at bytes [4160, 4224) lies on the load of 'weight'");
}

TEST(VerifyTransfers, RefusesAStoreWithoutAnEnd) {
  SmallPlan plan = spilled_plan();
  erase_step(plan, 10);
  expect_refused(plan, "found the store of 'momentum'");
}

TEST(VerifyTransfers, RefusesAWaitForWhatWasNotStarted) {
  SmallPlan plan = spilled_plan();
  std::swap(plan.step(3), plan.step(5));
  expect_refused(plan, "found it not in flight, wanted a start before");
}

TEST(VerifyTransfers, RefusesAStoreThatStartsBeforeTheLastWrite) {
  SmallPlan plan = spilled_plan();
  std::swap(plan.step(6), plan.step(7));
  expect_refused(plan, "an output at bytes [4160, 4224) lies on the store of 'weight'");
}

TEST(VerifyTransfers, RefusesAStoreOfAnOldVersion) {
  SmallPlan plan = spilled_plan();
  // Started and ended before the update.
  std::vector<PlannedStep>& steps = plan.phase().steps;
  std::rotate(steps.begin() + 6, steps.begin() + 7, steps.begin() + 11);
  expect_refused(plan, "at its end 'weight' at spill bytes [0, 64): found another value, wanted its last version");
}

TEST(VerifyTransfers, RefusesAnUpdateThatIsNotStored) {
  SmallPlan plan = spilled_plan();
  erase_step(plan, 10);
  erase_step(plan, 8);
  expect_refused(plan, "at its end 'momentum'");
}

TEST(VerifyTransfers, RefusesAWriteToWhatIsInFlight) {
  SmallPlan plan = spilled_plan();
  plan.step(4).out[0] = behind_staging(4);
  expect_refused(plan, "an output at bytes [4352, 4416) lies on the load of 'momentum'");
}

TEST(VerifyTransfers, RefusesWorkspaceOnWhatIsInFlight) {
  SmallPlan plan = spilled_plan();
  plan.workspace[1] = kBlock;
  plan.step(4).workspace = behind_staging(4);
  expect_refused(plan, "workspace at bytes [4352, 4416) lies on the load of 'momentum'");
}

TEST(VerifyTransfers, RefusesTwoTransfersThatMeet) {
  SmallPlan plan = spilled_plan();
  plan.phase().transfers[3].spill = {0, kBlock};
  expect_refused(plan, "meets the store of 'weight'");
  plan = spilled_plan();
  plan.phase().transfers[1].arena = behind_staging(1);
  std::swap(plan.step(1), plan.step(2));
  std::swap(plan.step(1), plan.step(3));
  expect_refused(plan, "meets the load of 'weight'");
}

TEST(VerifyTransfers, RefusesTransfersOutOfOrder) {
  SmallPlan plan = spilled_plan();
  std::swap(plan.step(7), plan.step(8));
  expect_refused(plan, "found transfer 3, wanted 2 to start next");
}

TEST(VerifyTransfers, RefusesPlacesThatDirectIoCannotUse) {
  SmallPlan plan = spilled_plan();
  plan.phase().transfers[0].spill.offset = 512;
  expect_refused(plan, "wanted multiples of 64 and 4096");
  plan = spilled_plan();
  plan.set.spill_bytes = kFile + kBlock;
  expect_refused(plan, "wanted its file's end inside [0, 4160)");
  plan = spilled_plan();
  plan.set.staging = {};
  expect_refused(plan, "wanted whole blocks at the arena's start");
  plan = spilled_plan();
  plan.phase().transfers[0].arena.bytes = 32;
  expect_refused(plan, "wanted as many bytes at both ends");
  plan = spilled_plan();
  plan.phase().transfers[0].arena.offset = 0;
  expect_refused(plan, "wanted its arena's end inside [4096, 4416)");
}

TEST(VerifyTransfers, RefusesTheHomesThatPersistentsCannotHave) {
  SmallPlan plan = spilled_plan();
  plan.set.persistents[1].place.offset = 0;
  expect_refused(plan, "lies on persistent 'weight'");
  plan = spilled_plan();
  plan.set.persistents[1].place.offset = kFile + kBlock;
  expect_refused(plan, "wanted a multiple of 4096");
  plan = spilled_plan();
  plan.set.persistents[1].space = Space::arena;
  expect_refused(plan, "persistent 'momentum'");
}

}  // namespace
}  // namespace thimble::testing
