// Where the places of a resized axis lie between those of the original: pixels are areas, their centres at halves, the
// border is repeated (align_corners=false in PyTorch).
#pragma once

#include <algorithm>
#include <cstdint>

namespace thimble::ops {

struct BetweenPlaces {
  std::int64_t low = 0, high = 0;
  double share = 0;  // of high; low has the rest
};

// The centre of place i of `to` lies at (i + 1/2) * from / to - 1/2 of the original, here as a whole number of parts of
// length 1 / (2 to): nothing is rounded before the share. Extents are at most kMaxExtent.
inline BetweenPlaces between_places(std::int64_t i, std::int64_t from, std::int64_t to) noexcept {
  const std::int64_t parts = std::max(std::int64_t{0}, (2 * i + 1) * from - to);
  const std::int64_t low = parts / (2 * to);
  return {low, std::min(low + 1, from - 1), static_cast<double>(parts % (2 * to)) / static_cast<double>(2 * to)};
}

// How much place i of `to` takes from place k of `from`.
inline double share_of(std::int64_t k, std::int64_t i, std::int64_t from, std::int64_t to) noexcept {
  const BetweenPlaces between = between_places(i, from, to);
  return (between.low == k ? 1 - between.share : 0) + (between.high == k ? between.share : 0);
}

}  // namespace thimble::ops
