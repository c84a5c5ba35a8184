// What a tile fetches while it multiplies: lines of what is read next, and those of what it writes and adds in the end.
#pragma once

#include "kernels/cpu/tile_work.h"

namespace thimble::kernels::THIMBLE_ISA {

// Where nothing is known of what is read next, the tile's own first line is fetched, for nothing.
struct LinesAhead {
  const std::byte* first;
  std::int64_t step;

  explicit LinesAhead(const TileWork& t)
      : first(t.ahead == nullptr ? reinterpret_cast<const std::byte*>(t.a) : t.ahead),
        step(t.ahead == nullptr ? 0 : t.ahead_step) {}
};

// What is written comes from afar. A sum of at most so many steps ends before it does: then what the next tile writes
// is fetched, which lies behind.
constexpr std::int64_t kShortSum = 256;
// Lines that are asked for at once. Of more, no other miss of the first cache can be kept track of, and whatever the
// products wait for waits as long as memory takes: they are fetched one a step.
constexpr int kMostAtOnce = 16;

template <int kRows>
inline constexpr int kHalfRows = (kRows + 1) / 2;

// All of a tile at once, of elements of `width` bytes.
template <int kRows, int kVectors>
THIMBLE_INLINE void fetch_rows(const std::byte* row, std::int64_t step, std::int64_t width) {
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r, row += step) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) __builtin_prefetch(row + v * kLanes * width, 1);
  }
}

// What the first run of a tile fetches of what is written and added: a line of each row, then the next one of each.
struct RowsAhead {
  const std::byte* lines[4];
  int count = 0;
  std::int64_t row;       // bytes from one to the next
  bool is_short = false;  // steps are few: two rows each, and nothing of what is read next

  [[gnu::always_inline]] void add(const std::byte* rows, int lines_each) {
    lines[count++] = rows;
    if (lines_each > 1) lines[count++] = rows + kLineBytes;
  }

  // Few enough results are fetched at once, and those for which there are too few steps.
  template <int kRows, int kVectors, bool kApart>
  [[gnu::always_inline]] void plan(const TileWork& t) {
    constexpr int kWideLines = (kVectors * kLanes * 4 + kLineBytes - 1) / kLineBytes;
    const bool is_narrow = kHasPairs && t.narrow != nullptr;
    const auto* results =
        is_narrow ? reinterpret_cast<const std::byte*>(t.narrow) : reinterpret_cast<const std::byte*>(t.c);
    const auto* addend =
        is_narrow ? reinterpret_cast<const std::byte*>(t.narrow_addend) : reinterpret_cast<const std::byte*>(t.addend);
    const std::int64_t width = is_narrow ? sizeof(BFloat16) : sizeof(float);
    row = t.c_row * width;
    const std::int64_t first = t.count * t.inner * t.outer <= kShortSum ? kRows * row : 0;
    if (kApart && t.streams) {
      // Lines that are written whole are never read.
    } else if (is_narrow || kRows * kWideLines <= kMostAtOnce || t.count < kHalfRows<kRows> * kWideLines) {
      fetch_rows<kRows, kVectors>(results + first, row, width);
    } else {
      add(results + first, kWideLines);
    }
    if (addend != nullptr) add(addend + first, is_narrow ? 1 : kWideLines);
    is_short = t.count < kRows * count;
  }
};

}  // namespace thimble::kernels::THIMBLE_ISA
