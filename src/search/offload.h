// Points beyond the front of recomputation: what may wait in a spill file, and what moving it costs. Knows no budget.
#pragma once

#include <string>
#include <vector>

#include "schedule/transfers.h"
#include "search/front.h"

namespace thimble {

struct OffloadPoint {
  Holding holding;
  Offload offload;
  Bytes resident_bytes = 0;  // persistents that stay, and staging
  Bytes live_bytes = 0;      // the peak of transients
  double seconds = 0;
  std::string strategy;

  Bytes arena_bytes() const { return resident_bytes + live_bytes; }
};

struct OffloadOptions {
  BufferOptions buffers;
  Bytes persistent_bytes = 0;  // of the whole network, if nothing is spilled
  double bytes_per_second = 500e6;
};

// Sorted from fastest to smallest, none beaten by another. Persistent values are taken in the order of bytes saved a
// second of transfer, activations by how long they wait; how much of either, how far ahead and on top of which
// recomputation is tried in steps.
std::vector<OffloadPoint> search_offload(const Scheduler& scheduler, const std::vector<FrontPoint>& front,
                                         const OffloadOptions& options);

// What the arena holds beside transients when these values live elsewhere.
Bytes resident_bytes(const Scheduler& scheduler, std::span<const Keep> keep, const Offload& offload,
                     Bytes persistent_bytes);

}  // namespace thimble
