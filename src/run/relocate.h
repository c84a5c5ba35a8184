// Takes what persists from where one plan has it to where another wants it, within the arena and between it and the
// spill file.
#pragma once

#include <span>

#include "run/spill_file.h"

namespace thimble {

// One of the two.
struct Residence {
  std::byte* arena = nullptr;
  Bytes spill_offset = -1;
};

struct Relocation {
  Residence from, to;
  Bytes bytes = 0;
};

// `moves` are in the order in which values lie in the arena, which is the same before and after, so that none is
// overwritten before it has moved. A value that stays in the spill file stays at its place. UserError if the file
// fails.
void relocate(std::span<const Relocation> moves, SpillFile* file);

}  // namespace thimble
