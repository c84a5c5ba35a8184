// Named ways to keep and recompute, known from the literature; the search starts from them and they enter the same
// front.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.h"

namespace thimble {

// Which schedules a front is made of. All but `automatic` and `none` are strategies of others, for comparison.
enum class Recompute : std::uint8_t {
  automatic,  // every strategy, and what the search finds from there
  none,       // only what is never kept is made anew
  chen,       // Chen et al. 2016: cheap values; segments of equal bytes; segments in segments
  block,      // a checkpoint at every k-th place where one value separates the forward pass, as users set them by hand
  sage,       // Gim & Ko 2022: under pressure drops the value of least time for its size
  greedy,     // after Kirisame et al. 2021: under pressure drops what is cheap, large and long unused
};

std::string_view name_of(Recompute recompute);         // "auto", "none", "chen"...; empty beyond the last
Recompute recompute_from_name(std::string_view name);  // UserError for an unknown one

struct Strategy {
  std::string name;  // "keep all", "cheap", "block 2", "chen 4", "sage 81%"...
  Recompute family = Recompute::automatic;
  Holding holding;
};

// Forward values large enough to be worth a decision; and with them the gradients that wait for the norm of all.
std::vector<ValueId> large_candidates(const Scheduler& scheduler);
std::vector<ValueId> large_values(const Scheduler& scheduler);

// Under sixteen operations a byte made, repeating costs little more than reading the value back would.
bool is_cheap(const Scheduler& scheduler, ValueId value);

// The same schedule without the exceptions that it never meets.
Holding tidied(const Scheduler& scheduler, const Holding& holding);

// The schedules of one family after "keep all"; of all families for `automatic`. Where gradients wait for the norm of
// all, each of these keeps them, and its twin, "... second pass", makes all of them again.
std::vector<Strategy> named_strategies(const Scheduler& scheduler, Recompute family = Recompute::automatic);

}  // namespace thimble
