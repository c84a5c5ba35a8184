#include "memory/place/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "memory/place/cases.h"

namespace thimble {

namespace {

// The gaps among the slots that are alive at one of the steps, by plain sorting.
Bytes plain_find(std::vector<Slot> slots, Fit fit, Bytes bytes, int first, int last) {
  std::erase_if(slots, [&](const Slot& slot) { return slot.first > last || slot.last < first; });
  std::sort(slots.begin(), slots.end(), [](const Slot& a, const Slot& b) { return a.offset < b.offset; });
  Bytes top = 0, best_offset = -1, best_gap = 0;
  for (const Slot& slot : slots) {
    const Bytes gap = slot.offset - top;
    if (gap >= bytes && (best_offset < 0 || (fit == Fit::tightest && gap < best_gap))) {
      best_offset = top;
      best_gap = gap;
    }
    top = std::max(top, slot.end);
  }
  return best_offset >= 0 ? best_offset : top;
}

void expect_same_as_plain(Packing& packing, const std::vector<Request>& requests, Fit fit) {
  std::vector<Slot> slots;
  for (const Request& request : requests) {
    if (request.bytes == 0) continue;
    const Bytes bytes = aligned_bytes(request);
    const Bytes offset = packing.find(fit, bytes, request.first_step, request.last_step);
    ASSERT_EQ(offset, plain_find(slots, fit, bytes, request.first_step, request.last_step));
    slots.push_back({.offset = offset, .end = offset + bytes, .first = request.first_step, .last = request.last_step});
    packing.insert(slots.back());
  }
}

}  // namespace

TEST(Packing, PutsTheFirstAtTheBottom) { EXPECT_EQ(Packing().find(Fit::tightest, 64, 0, 9), 0); }

TEST(Packing, ChoosesTheLowestOrTheTightestGap) {
  Packing packing;
  packing.insert({.offset = 192, .end = 256, .first = 0, .last = 5});  // a gap of 192 below
  packing.insert({.offset = 320, .end = 384, .first = 0, .last = 5});  // a gap of 64 below
  EXPECT_EQ(packing.find(Fit::lowest, 64, 5, 5), 0);
  EXPECT_EQ(packing.find(Fit::tightest, 64, 5, 5), 256);
  EXPECT_EQ(packing.find(Fit::tightest, 128, 5, 5), 0);
  EXPECT_EQ(packing.find(Fit::lowest, 256, 5, 5), 384) << "no gap is large enough: on top";
  EXPECT_EQ(packing.find(Fit::lowest, 256, 6, 6), 0) << "nothing is alive at step 6";
}

TEST(Packing, FindsWhatAPlainSearchFinds) {
  for (const Fit fit : {Fit::lowest, Fit::tightest}) {
    Packing packing;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      packing.clear();
      expect_same_as_plain(packing, random_case(400, seed), fit);
      packing.clear();
      expect_same_as_plain(packing, budgeted_case(60, seed), fit);
      packing.clear();
      expect_same_as_plain(packing, training_case(12, seed), fit);
    }
  }
}

}  // namespace thimble
