// What the process holds beside the arena, predicted from build, instruction set, threads and plan, never from this
// run's own memory.
#pragma once

#include "base/bytes.h"
#include "base/isa.h"

namespace thimble {

struct Reserve {
  Bytes code = 0;       // our own program's pages and kernel states
  Bytes libraries = 0;  // of the libraries that are linked in, the same
  Bytes heap = 0;       // plan, bound steps, loader, reports
  Bytes stacks = 0;     // of all threads
  Bytes tables = 0;     // the kernel's page tables for the arena
  Bytes margin = 0;     // and what the compiler needs beyond the arena and all of the above

  Bytes total() const { return code + libraries + heap + stacks + tables + margin; }  // whole MiB
};

struct ReserveFacts {
  Target target;
  Bytes arena_bytes = 0;
  std::int64_t step_count = 0;          // of all phases
  std::int64_t busiest_node_count = 0;  // of the largest graph
  Bytes loading_bytes = 0;              // the loader's buffers and what a data set holds: decoders, names
  bool has_spill_file = false;          // and so one more thread
  Bytes resident_kernel_bytes = 0;      // code and descriptors that kernels hold outside the arena
  Bytes ladder_bytes = 0;               // other plans that are held ready
};

Reserve predict_reserve(const ReserveFacts& facts);

// What the compiler needs, beside nothing else.
Bytes predict_planning(const ReserveFacts& facts);

// No plan of a larger arena, or of more of anything else, needs a smaller budget.
Bytes least_process(const ReserveFacts& facts);

}  // namespace thimble
