// The requests placed so far, in order of offset, built to answer one question fast: where does the next one fit?
#pragma once

#include <vector>

#include "base/bytes.h"

namespace thimble {

enum class Fit {
  lowest,    // the lowest gap that is large enough
  tightest,  // the smallest gap that is large enough; on top of all if there is none
};

// A piece of memory over a piece of time; the steps are both included.
struct Slot {
  Bytes offset = 0;
  Bytes end = 0;
  int first = 0;
  int last = 0;
};

class Packing {
 public:
  // Offset for `bytes` > 0 over the steps first..last, clear of every slot that is alive at one of them.
  Bytes find(Fit fit, Bytes bytes, int first, int last) const;
  void insert(const Slot& slot);
  void clear() { chunk_count_ = 0; }

 private:
  // A run of slots with what is needed to pass over it unread: either no slot meets the lifetime asked for, or all do,
  // in which case the gaps between them do not depend on the lifetime.
  struct Chunk {
    std::vector<Slot> slots;  // by offset
    Bytes top = 0;            // largest end
    Bytes widest_gap = 0;     // if all slots were alive
    int earliest_first = 0, latest_first = 0;
    int earliest_last = 0, latest_last = 0;

    void summarize();
  };

  template <typename Found>
  Bytes walk(Bytes bytes, int first, int last, Found found) const;
  void split(std::size_t index);

  // Chunks beyond chunk_count_ are kept for their memory: a search fills and clears a packing thousands of times.
  std::vector<Chunk> chunks_;
  std::size_t chunk_count_ = 0;
};

}  // namespace thimble
