// The list of transient buffers is what reports draw and what test configurations poison, so it must be true as well.
#include "memory/verify/small_plans.h"

namespace thimble::testing {
namespace {

TEST(VerifyBuffers, ABufferHoldsItsValues) {
  SmallPlan plan = dense_plan();
  plan.phase().buffers[2].place.bytes = 32;
  expect_refused(plan,
                 "step 4: d at bytes [320, 384) found buffer 'd' at bytes [320, 352) over steps 4 to 5, wanted a "
                 "buffer that holds it");
}

TEST(VerifyBuffers, ABufferLivesAsLongAsItsValues) {
  SmallPlan plan = dense_plan();
  plan.phase().buffers[1].last_step = 5;
  expect_refused(plan, "step 6: back at bytes [256, 320) found buffer 'y' at bytes [256, 320) over steps 0 to 5");
  plan = dense_plan();
  plan.phase().buffers[0].first_step = 1;
  expect_refused(plan, "step 0: images at bytes [192, 256) found no buffer");
}

TEST(VerifyBuffers, EveryTransientHasABuffer) {
  SmallPlan plan = dense_plan();
  plan.phase().buffers.pop_back();
  expect_refused(plan, "step 7: workspace at bytes [448, 488) found no buffer");
}

TEST(VerifyBuffers, BuffersAliveTogetherAreDisjoint) {
  SmallPlan plan = dense_plan();
  plan.phase().buffers[2].last_step = 7;
  expect_refused(
      plan,
      "buffer 'g' at bytes [320, 384) over steps 7 to 8 lies on buffer 'd' at bytes [320, 384) over steps 4 to 7");
  plan = dense_plan();
  plan.phase().buffers[0].place.bytes = 128;
  expect_refused(plan, "lies on buffer");
}

TEST(VerifyBuffers, BuffersStayInsideTheTransientPart) {
  SmallPlan plan = dense_plan();
  plan.phase().transient_bytes = 4 * kBlock;
  expect_refused(plan, "buffer 'workspace' at bytes [448, 488) over steps 7 to 7, wanted it inside [192, 448)");
  plan.phase().transient_bytes = 6 * kBlock;
  expect_refused(plan, "found 384 transient bytes behind 192, wanted at most 320");
  plan = dense_plan();
  plan.phase().buffers[0].place = block(2);
  expect_refused(plan, "buffer 'images' at bytes [128, 192) over steps 0 to 7, wanted it inside [192, 512)");
}

TEST(VerifyBuffers, BuffersAreAlignedAndLiveDuringThePhase) {
  SmallPlan plan = dense_plan();
  plan.phase().buffers[5].place.offset += 8;
  expect_refused(plan, "buffer 'workspace' at bytes [456, 496) over steps 7 to 7, wanted a multiple of 64");
  plan = dense_plan();
  plan.phase().buffers[4].last_step = 9;
  expect_refused(plan, "buffer 'g' at bytes [320, 384) over steps 7 to 9, wanted steps 0 to 8");
}

}  // namespace
}  // namespace thimble::testing
