// A resized axis: between which places of the original each new place lies, pixels being areas with centres at halves,
// and the same told the other way round. Tables are of types of this namespace, so that no code compiled for the wide
// instruction set can stand in for that of a shared container.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

struct Between {
  std::int64_t low = 0, high = 0;
  float share = 0;  // of high; low has the rest
};

// Entry i: place i of `to` on an axis of `from`. Counted in parts of length 1 / (2 to), so that only the share is
// rounded.
static inline std::unique_ptr<Between[]> between_table(std::int64_t from, std::int64_t to) {
  auto table = std::make_unique<Between[]>(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const std::int64_t parts = larger(0, (2 * i + 1) * from - to), low = parts / (2 * to);
    const double share = static_cast<double>(parts % (2 * to)) / static_cast<double>(2 * to);
    table[static_cast<std::size_t>(i)] = {low, smaller(low + 1, from - 1), static_cast<float>(share)};
  }
  return table;
}

// The places of `to` that were made of place k of `from`. They are neighbours: [first, end).
struct MadeOf {
  std::int64_t first = 0, end = 0;
};

static inline std::unique_ptr<MadeOf[]> made_of_table(const Between* between, std::int64_t from, std::int64_t to) {
  auto table = std::make_unique<MadeOf[]>(static_cast<std::size_t>(from));
  for (std::int64_t i = 0; i < to; ++i) {
    for (const std::int64_t k : {between[i].low, between[i].high}) {
      MadeOf& made = table[static_cast<std::size_t>(k)];
      if (made.end == 0) made.first = i;
      made.end = i + 1;
    }
  }
  return table;
}

THIMBLE_INLINE float share_of(const Between& between, std::int64_t k) {
  if (between.low == between.high) return 1;
  return between.low == k ? 1 - between.share : between.share;
}

}  // namespace thimble::kernels::THIMBLE_ISA
