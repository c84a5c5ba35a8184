// Values that share a pool: a write to one slot leaves the others, everything else that writes there does not.
#include "memory/verify/contents.h"
#include "memory/verify/small_plans.h"

namespace thimble::testing {
namespace {

TEST(VerifyPool, ASlotIsNotReadAfterItsUpdate) {
  SmallPlan plan = pooled_plan();
  plan.step(7).node = NodeId{1};
  plan.step(7).in[1] = block(2, 2);
  expect_refused(
      plan,
      "step 7 (sparse_to_dense 'dense1', recomputed): input 0 'p1' at bytes [0, 64): found 'next/p1' at bytes [0, 64) "
      "written by step 6, wanted 'p1'");
}

TEST(VerifyPool, EverySlotIsUpdatedOnce) {
  SmallPlan plan = pooled_plan();
  plan.phase().steps.pop_back();
  expect_refused(plan, "found no step for sparse_update 'next/p0', wanted one");
  plan = pooled_plan();
  plan.phase().steps.push_back(plan.step(9));
  expect_refused(plan, "found a second run of what writes a persistent value");
}

TEST(VerifyPool, ASlotLivesInThePoolOnly) {
  SmallPlan plan = pooled_plan();
  plan.step(9).out[0] = block(11);
  expect_refused(plan, "output 0 'next/p0' at bytes [704, 768), wanted its persistent place, bytes [0, 64)");
}

TEST(VerifyPool, NodeAndValueAgreeOnTheSlot) {
  SmallPlan plan = pooled_plan();
  plan.training.graph.node(NodeId{7}).attributes.set("slot", std::int64_t{0});
  expect_refused(plan, "found sparse_update at work on slot 0, wanted slot 1");
}

TEST(VerifyPool, OnlyAnUpdateWritesASlot) {
  SmallPlan plan = pooled_plan();
  Graph& g = plan.training.graph;
  OpDef plain = *g.node(NodeId{8}).op;  // the same op, not declared an update
  plain.is_update = false;
  g.node(NodeId{8}).op = &plain;
  expect_refused(plan, "output 0 'next/p0' is one slot of a pool, wanted an update to write it");
}

TEST(Contents, AWriteIntoAPoolDestroysAllItsSlots) {
  const std::vector<PersistentPlace> persistents = {
      {"pool/parameter", Role::parameter, {DType::f32, {32}, Layout::pooled}, {0, 128}},
      {"mask", Role::structure, {DType::u8, {2}}, {128, 2}}};
  Contents contents(persistents, Space::arena);
  EXPECT_EQ(contents.read({0, 128}, 1), term_before(persistents[0], 1));
  ASSERT_TRUE(contents.write_slot({{0, 128}, "next", 0}, 0, 1, Term{7}));
  EXPECT_EQ(contents.read({0, 128}, 1), Term{7});
  EXPECT_EQ(contents.read({0, 128}, 0), term_before(persistents[0], 0));
  contents.write({{64, 64}, "transient", 1}, Term{8});
  EXPECT_EQ(contents.read({0, 128}, 0), std::nullopt);
  EXPECT_EQ(contents.read({0, 128}, 1), std::nullopt);
  EXPECT_EQ(contents.read({64, 64}, 0), Term{8});
  EXPECT_FALSE(contents.is_intact(0));
  EXPECT_FALSE(contents.write_slot({{0, 128}, "next", 2}, 0, 1, Term{9}));
  EXPECT_TRUE(contents.is_intact(1));
}

TEST(Contents, HoldWhatLivesInTheirSpace) {
  const std::vector<PersistentPlace> persistents = {
      {"here", Role::parameter, {DType::f32, {16}}, {0, 64}, Space::arena},
      {"there", Role::parameter, {DType::f32, {16}}, {0, 64}, Space::spill}};
  EXPECT_EQ(Contents(persistents, Space::arena).read({0, 64}, 0), term_before(persistents[0], 0));
  EXPECT_EQ(Contents(persistents, Space::spill).read({0, 64}, 0), term_before(persistents[1], 0));
}

TEST(Contents, APartlyOverwrittenRangeIsRubbish) {
  Contents contents({}, Space::arena);
  contents.write({{0, 256}, "wide", 0}, Term{1});
  contents.write({{256, 64}, "next", 1}, Term{2});
  EXPECT_EQ(contents.read({0, 128}, 0), std::nullopt) << "a part of a value is no value";
  contents.spoil({{192, 8}, "workspace", 2});
  EXPECT_EQ(contents.read({0, 256}, 0), std::nullopt);
  EXPECT_EQ(contents.read({256, 64}, 0), Term{2});
  contents.write({{0, 512}, "all", 3}, Term{3});
  EXPECT_EQ(contents.read({256, 64}, 0), std::nullopt);
  EXPECT_EQ(contents.read({0, 512}, 0), Term{3});
  EXPECT_EQ(contents.last_write({200, 4})->step, 3);
}

}  // namespace
}  // namespace thimble::testing
