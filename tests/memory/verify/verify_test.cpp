// Hand-made plans: the right ones pass, and each kind of fault is refused by a sentence that says what is wrong.
#include "memory/verify/verify.h"

#include "base/error.h"
#include "memory/verify/small_plans.h"

namespace thimble::testing {
namespace {

TEST(Verify, AcceptsRightPlans) {
  EXPECT_EQ(dense_plan().fault(), std::nullopt);
  EXPECT_EQ(pooled_plan().fault(), std::nullopt);
}

TEST(Verify, VerifyPlanTurnsAFaultIntoAnInternalError) {
  SmallPlan plan = dense_plan();
  const PhaseToVerify phases[] = {{&plan.training, plan.workspace}};
  EXPECT_NO_THROW(verify_plan(phases, plan.set));
  plan.step(7).in[1] = block(5);
  EXPECT_THROW(verify_plan(phases, plan.set), InternalError);
}

TEST(Verify, AnInputMustHoldItsValue) {
  SmallPlan plan = dense_plan();
  plan.step(7).in[1] = block(4);
  expect_refused(
      plan,
      "phase 'whole 4', step 7 (matmul 'g'): input 1 'd' at bytes [256, 320): found 'a' at bytes [256, 320) written by "
      "step 1, wanted 'd'");
}

TEST(Verify, AnInputMustHaveBeenWritten) {
  SmallPlan plan = dense_plan();
  plan.step(4).in[0] = block(6);
  expect_refused(
      plan,
      "step 4 (dropout 'd'): input 0 'back' at bytes [384, 448): found nothing that was ever written, wanted 'back'");
}

TEST(Verify, AnInputMustBeWhole) {
  SmallPlan plan = dense_plan();
  plan.workspace[5] = 8;  // the sum's workspace lands on the images, which the gradient still wants
  plan.step(5).workspace = block(3, 8);
  expect_refused(plan,
                 "step 7 (matmul 'g'): input 0 'images' at bytes [192, 256): found 'workspace' at bytes [192, 200) "
                 "written by step 5");
}

TEST(Verify, WorkspaceLeavesRubbish) {
  SmallPlan plan = dense_plan();
  plan.workspace[5] = 64;
  plan.step(5).workspace = block(4);
  expect_refused(plan, "step 6 (dropout 'd', recomputed): input 0 'back' at bytes [256, 320): found 'workspace'");
}

TEST(Verify, ADroppedStepIsMissedByItsReader) {
  SmallPlan plan = dense_plan();
  plan.phase().steps.erase(plan.phase().steps.begin() + 6);
  expect_refused(
      plan, "step 6 (matmul 'g'): input 1 'd' at bytes [384, 448): found nothing that was ever written, wanted 'd'");
}

TEST(Verify, EveryNodeRuns) {
  SmallPlan plan = dense_plan();
  plan.phase().steps.erase(plan.phase().steps.begin() + 5);
  expect_refused(plan, "phase 'whole 4', found no step for channel_sum 'total', wanted one");
}

TEST(Verify, AnUpdateHappensOnce) {
  SmallPlan plan = dense_plan();
  plan.phase().steps.push_back(plan.step(8));
  expect_refused(plan,
                 "step 9 (momentum_update 'next'): found a second run of what writes a persistent value, wanted one");
  plan.step(9).is_recompute = true;
  expect_refused(plan, "step 9 (momentum_update 'next', recomputed): found a second run");
}

TEST(Verify, AMetricIsWrittenOnce) {
  SmallPlan plan = dense_plan();
  plan.phase().steps.insert(plan.phase().steps.begin() + 5, plan.step(5));
  plan.step(6).is_recompute = true;
  expect_refused(plan,
                 "step 6 (channel_sum 'total', recomputed): found a second run of what writes a persistent value");
}

TEST(Verify, NoStepReadsAParameterAfterItsUpdate) {
  SmallPlan plan = dense_plan();
  PlannedStep forward = plan.step(0);
  forward.is_recompute = true;
  plan.phase().steps.push_back(forward);
  expect_refused(plan,
                 "step 9 (linear 'y', recomputed): input 1 'weight' at bytes [0, 64): found 'next' at bytes [0, 64) "
                 "written by step 8, "
                 "wanted 'weight'");
}

TEST(Verify, MarksOfRecomputationAreTrue) {
  SmallPlan plan = dense_plan();
  plan.step(6).is_recompute = false;
  expect_refused(plan, "step 6 (dropout 'd'): found it marked as original after 1 runs of its node");
  plan = dense_plan();
  plan.step(0).is_recompute = true;
  expect_refused(plan, "found it marked as recomputed after 0 runs");
}

TEST(Verify, AnUpdateLiesOnWhatItReplaces) {
  SmallPlan plan = dense_plan();
  plan.step(8).out[1] = block(6);
  expect_refused(plan, "output 1 'next.1' at bytes [384, 448), wanted its persistent place, bytes [64, 128)");
  plan = dense_plan();
  std::swap(plan.step(8).in[0], plan.step(8).in[1]);
  expect_refused(
      plan, "output 0 'next' at bytes [0, 64) lies on input 1 'momentum' at bytes [0, 64), which it may not overwrite");
}

TEST(Verify, AMetricLiesOnItsPersistentPlace) {
  SmallPlan plan = dense_plan();
  plan.step(5).out[0] = block(6, 16);
  expect_refused(plan, "output 0 'total' at bytes [384, 400), wanted its persistent place, bytes [128, 144)");
}

TEST(Verify, TransientsStayOutOfThePersistentPart) {
  SmallPlan plan = dense_plan();
  plan.step(0).out[0] = block(1);
  expect_refused(
      plan, "step 0 (linear 'y'): output 0 'y' at bytes [64, 128), wanted a transient behind the 192 persistent bytes");
  plan = dense_plan();
  plan.step(7).workspace = block(1);
  expect_refused(plan, "step 7 (matmul 'g'): workspace at bytes [64, 128), wanted a transient");
  plan = dense_plan();
  plan.phase().inputs[0].place = block(1);
  expect_refused(plan, "input 'images' at bytes [64, 128), wanted a transient");
}

TEST(Verify, OnlyDeclaredPairsShareBytes) {
  SmallPlan plan = dense_plan();
  plan.step(0).out[0] = block(3);
  expect_refused(
      plan,
      "output 0 'y' at bytes [192, 256) lies on input 0 'images' at bytes [192, 256), which it may not overwrite");
}

TEST(Verify, AnInPlaceOutputLiesExactlyOnItsInput) {
  SmallPlan plan = dense_plan();
  Graph g(op_table());
  const ValueId images = g.add_source("images", {DType::f32, {64}}, Role::input);
  g.apply("relu", {images}, {}, "a");
  plan.training.graph = std::move(g);
  plan.workspace = {0};
  plan.set.persistents.clear();
  plan.phase().inputs = {{images, block(3, 256)}};
  plan.phase().steps = {{NodeId{0}, false, {block(3, 256)}, {block(4, 256)}, {}}};
  expect_refused(
      plan,
      "output 0 'a' at bytes [256, 512) lies across input 0 'images' at bytes [192, 448), wanted it exactly there");
}

TEST(Verify, AnInputReadTwiceIsNotOverwritten) {
  SmallPlan plan = dense_plan();
  Graph g(op_table());
  const ValueId images = g.add_source("images", {DType::f32, {4, 4}}, Role::input);
  g.apply("add", {images, images}, {}, "twice");
  plan.training.graph = std::move(g);
  plan.workspace = {0};
  plan.set.persistents.clear();
  plan.phase().inputs = {{images, block(3)}};
  plan.phase().steps = {{NodeId{0}, false, {block(3), block(3)}, {block(3)}, {}}};
  expect_refused(plan,
                 "output 0 'twice' at bytes [192, 256) overwrites input 1 'images' at bytes [192, 256), which the step "
                 "reads twice");
}

TEST(Verify, InPlaceWhereTheInputIsStillWantedIsRefused) {
  SmallPlan plan = dense_plan();
  plan.step(4).out[0] = block(4);
  plan.step(5).in[0] = block(4);
  expect_refused(plan,
                 "step 6 (dropout 'd', recomputed): input 0 'back' at bytes [256, 320): found 'd' at bytes [256, 320) "
                 "written by step 4");
}

TEST(Verify, AViewLiesOnItsInput) {
  SmallPlan plan = dense_plan();
  plan.step(2).out[0] = block(6);
  plan.step(3).in[0] = plan.step(3).out[0] = block(6);
  expect_refused(plan,
                 "step 2 (reshape 'flat'): output 0 'flat' at bytes [384, 448) is a view, wanted it on input 0 'a' at "
                 "bytes [256, 320)");
}

TEST(Verify, OutputsDoNotShareBytes) {
  SmallPlan plan = dense_plan();
  Graph g(op_table());
  const ValueId x = g.add_source("x", {DType::f32, {4, 4}}, Role::input);
  g.add_node("batch_moments", {x}, {}, "mean");
  plan.training.graph = std::move(g);
  plan.workspace = {0};
  plan.set.persistents.clear();
  plan.phase().inputs = {{x, block(3)}};
  plan.phase().steps = {{NodeId{0}, false, {block(3)}, {block(4, 16), block(4, 16)}, {}}};
  expect_refused(plan, "output 1 'mean.1' at bytes [256, 272) lies on output 0 'mean' at bytes [256, 272)");
}

TEST(Verify, WorkspaceTouchesNoOperandOfItsStep) {
  SmallPlan plan = dense_plan();
  plan.step(7).workspace = block(6, 40);
  expect_refused(plan, "workspace at bytes [384, 424) lies on input 1 'd' at bytes [384, 448)");
  plan.step(7).workspace = block(5, 40);
  expect_refused(plan, "workspace at bytes [320, 360) lies on output 0 'g' at bytes [320, 384)");
}

TEST(Verify, WorkspaceIsLargeEnough) {
  SmallPlan plan = dense_plan();
  plan.step(7).workspace.bytes = 39;
  expect_refused(plan, "step 7 (matmul 'g'): workspace found 39 bytes at 448, wanted 40");
}

TEST(Verify, PlacesHaveTheSizeOfTheirValues) {
  SmallPlan plan = dense_plan();
  plan.step(1).out[0].bytes = 32;
  expect_refused(plan, "step 1 (relu 'a'): output 0 'a' found 32 bytes at 256, wanted 64");
}

TEST(Verify, PlacesAreAligned) {
  SmallPlan plan = dense_plan();
  plan.step(4).out[0].offset += 32;
  expect_refused(plan, "output 0 'd' at bytes [352, 416), wanted a multiple of 64");
}

TEST(Verify, PlacesAreInsideTheArena) {
  SmallPlan plan = dense_plan();
  plan.step(4).out[0] = block(8);
  expect_refused(plan, "output 0 'd' found 64 bytes at 512, wanted them inside [0, 512)");
  plan.step(4).out[0] = block(-1);
  expect_refused(plan, "output 0 'd' found 64 bytes at -64, wanted them inside [0, 512)");
  plan = dense_plan();
  plan.step(7).workspace = block(8, 40);
  expect_refused(plan, "workspace found 40 bytes at 512, wanted them inside [0, 512)");
}

TEST(Verify, OperandsAreAsManyAsTheNodeHas) {
  SmallPlan plan = dense_plan();
  plan.step(7).in.pop_back();
  expect_refused(plan, "found 1 inputs and 1 outputs, wanted 2 and 1");
  plan.step(7).node = NodeId{8};
  expect_refused(plan, "step 7: found node 8, wanted one of 8");
}

TEST(Verify, HostInputsHaveOnePlaceEach) {
  SmallPlan plan = dense_plan();
  plan.phase().inputs.clear();
  expect_refused(plan, "input 'images' found no place");
  plan = dense_plan();
  plan.phase().inputs.push_back(plan.phase().inputs[0]);
  expect_refused(plan, "input 'images' found two places, wanted one");
  plan = dense_plan();
  plan.phase().inputs[0].value = ValueId{1};
  expect_refused(plan, "input 'weight' is filled by the host, wanted a source");
}

TEST(Verify, PersistentPlacesAreDisjointAlignedAndInside) {
  SmallPlan plan = dense_plan();
  plan.set.persistents[1].place = block(0);
  expect_refused(plan, "lies on persistent");
  plan = dense_plan();
  plan.set.persistents[1].place.offset = 96;
  expect_refused(plan, "persistent 'momentum' at bytes [96, 160), wanted a multiple of 64");
  plan = dense_plan();
  plan.set.persistents[1].place = block(3);
  expect_refused(plan, "persistent 'momentum' found 64 bytes at 192, wanted them inside [0, 192)");
  plan = dense_plan();
  plan.set.persistents[1].place.bytes = 32;
  expect_refused(plan, "persistent 'momentum' found 32 bytes at 64, wanted 64 for f32[4,4]");
  plan = dense_plan();
  plan.set.persistents[1].name = "weight";
  expect_refused(plan, "persistent 'weight' found two places, wanted one");
  plan = dense_plan();
  plan.set.persistent_bytes = 9 * kBlock;
  expect_refused(plan, "found 576 persistent bytes, wanted 0 to 512");
}

TEST(Verify, PersistentValuesHaveAPlaceOfTheirType) {
  SmallPlan plan = dense_plan();
  plan.set.persistents.pop_back();
  expect_refused(plan, "'total' found no persistent place, wanted 'total'");
  plan = dense_plan();
  plan.set.persistents[0].type = {DType::i32, {4, 4}};
  expect_refused(plan, "'weight' found persistent place 'weight' of i32[4,4], wanted f32[4,4]");
}

TEST(Verify, APersistentValueThatThePhaseDoesNotTouchMayLieBesideTheOthers) {
  SmallPlan plan = dense_plan();
  plan.set.persistents.push_back({"other", Role::parameter, {DType::f32, {4}}, {block(2).offset + 16, 16}});
  expect_refused(plan, "persistent 'other' at bytes [144, 160), wanted a multiple of 64");
  plan.set.persistents.back().type = {DType::f32, {0}};
  plan.set.persistents.back().place = block(2, 0);
  EXPECT_EQ(plan.fault(), std::nullopt);
}

TEST(Verify, AnotherKeyIsAnotherValue) {
  SmallPlan plan = dense_plan();
  Graph& g = plan.training.graph;
  const ValueId back = g.find("back");
  const NodeId other = g.add_node("dropout", {back}, {{"p", 0.5}, {"key", std::int64_t{4}}}, "d_other_key");
  plan.workspace.push_back(0);
  plan.step(6).node = other;
  plan.step(6).is_recompute = false;
  expect_refused(plan,
                 "step 7 (matmul 'g'): input 1 'd' at bytes [384, 448): found 'd_other_key' at bytes [384, 448) "
                 "written by step 6");
  g.node(other).attributes.set("key", std::int64_t{3});
  EXPECT_EQ(plan.fault(), std::nullopt) << "the same op, attributes and inputs give the same bits";
}

TEST(Verify, PhasesStandInTheOrderOfThePlan) {
  SmallPlan plan = dense_plan();
  plan.phase().phase.samples = 5;
  expect_refused(plan, "phase 'whole 5', found a plan for it, wanted one for phase 'whole 4'");
  plan.set.phases.push_back(plan.phase());
  expect_refused(plan, "found plans of 2 phases, wanted 1");
}

TEST(Verify, WorkspaceSizesAreGivenForEveryNode) {
  SmallPlan plan = dense_plan();
  plan.workspace.pop_back();
  expect_refused(plan, "found workspace sizes for 7 nodes, wanted 8");
}

}  // namespace
}  // namespace thimble::testing
