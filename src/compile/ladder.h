// Plans that a run may move between when its budget changes: a few points of the front, each placed and verified before
// training starts, held in as few bytes as they can be run from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compile/point.h"
#include "compile/reserve.h"
#include "memory/packed_plan.h"
#include "select/select.h"

namespace thimble {

// What all plans of one microbatch share. State lies at the same place in every layout, unless it may wait in a spill
// file: then every rung has its own places.
struct LadderLayout {
  std::int64_t microbatch = 0;
  std::int64_t evaluation_samples = 0;
  std::vector<PersistentPlace> persistents;  // as the first of its rungs has them
};

struct Rung {
  std::size_t layout = 0;
  PointSummary point;
  PackedPlans plans;
};

struct Ladder {
  std::vector<LadderLayout> layouts;
  std::vector<Rung> rungs;             // from fastest to smallest, none beaten in both time and process bytes
  std::size_t start = 0;               // the rung that the run starts on
  std::vector<Selected> other_phases;  // of microbatches other than the one the run starts with

  bool is_empty() const { return rungs.empty(); }
  Bytes largest_arena() const;
  Bytes largest_spill() const;  // file; zero if no rung has one
  // The fastest rung that fits `budget`, of any microbatch or only of `layout`; none if there is no such rung.
  std::optional<std::size_t> find(std::optional<Bytes> budget, std::optional<std::size_t> layout = std::nullopt) const;
};

}  // namespace thimble
