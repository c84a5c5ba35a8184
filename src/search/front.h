// The front of memory against time for one microbatch: schedules of which none is beaten in both.
#pragma once

#include <string>
#include <vector>

#include "memory/buffers.h"
#include "search/strategies.h"

namespace thimble {

// Points that are smaller than a faster one by less than this part of its bytes are left out, but for the smallest.
constexpr Bytes kFrontStep = 1000;

// One way to keep and recompute, judged on the busiest phase.
struct FrontPoint {
  Holding holding;       // of the values of that phase's graph
  Bytes live_bytes = 0;  // peak of transient buffers, workspace included
  double seconds = 0;    // predicted
  double recompute_flops_ratio = 0;
  std::string strategy;  // what found it: a named strategy's name, or "search"
};

struct SearchOptions {
  Recompute recompute = Recompute::automatic;  // anything else: the schedules of that family and nothing more
  // What is to be met, if anything: where that is far from the smallest schedule, none smaller than that is looked for.
  Bytes wanted_bytes = 0;
  BufferOptions buffers;
};

// Whether a search for so many bytes goes on to the smallest schedules, where those it has found so far take
// `smallest`.
bool is_near_smallest(Bytes wanted, Bytes smallest);

// Points sorted from most bytes (fastest) to fewest (slowest). Ends by counted evaluations, never by the clock.
std::vector<FrontPoint> search_front(const Scheduler& scheduler, const SearchOptions& options);

}  // namespace thimble
