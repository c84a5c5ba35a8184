// What tiles of vectors do; see tile.h. Only parts/ is compiled with it.
#pragma once

#include <utility>

#include "kernels/cpu/tile.h"
#include "kernels/cpu/tile_fetch.h"

namespace thimble::kernels::THIMBLE_ISA {

// Rows of the tile lie side by side in a (a_row = 1): weight gradients, transposed left operands.
template <int kRows, int kVectors, typename B>
THIMBLE_INLINE void add_run_of_columns(TileSums<kRows, kVectors>& sums, const TileWork& t, const Unit* a, const B* b,
                                       const LinesAhead& lines) {
  const std::byte* ahead = lines.first;
  for (std::int64_t k = 0; k < t.count; ++k, a += t.a_next, b += t.b_next, ahead += lines.step) {
    __builtin_prefetch(ahead, 0, 2);
    Vec row[kVectors];
    load_row(row, b, t.last_lanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) add_product(sums[r], a[r], row);
  }
}

// The reduction lies side by side in a (a_next = 1). Three rows share a base address, because base, base + stride and
// base + 2 stride are addresses the processor forms for nothing, and fourteen separate pointers do not fit the
// registers. Only rows [kBegin, kEnd) of the tile take part.
template <int kBegin, int kEnd, int kRows, int kVectors, typename B>
THIMBLE_INLINE void add_run_of_rows(TileSums<kRows, kVectors>& sums, const TileWork& t, const Unit* a, const B* b,
                                    const RowsAhead& ahead) {
  constexpr int kBases = (kRows + 2) / 3;
  const std::int64_t step = t.a_row;
  const Unit* base[kBases];
#pragma GCC unroll 16
  for (int g = 0; g < kBases; ++g) base[g] = a + 3 * g * step;
  const LinesAhead source(t);
  const std::byte* read = source.first;
  std::int64_t left = t.count;
  for (int line = 0; left > 0; ++line) {
    const bool fetches = line < ahead.count, is_short = fetches && ahead.is_short;
    const std::byte* written = fetches ? ahead.lines[line] : reinterpret_cast<const std::byte*>(&t);  // or for nothing
    const std::byte* other = is_short ? written + kHalfRows<kRows> * ahead.row : read;
    const std::int64_t written_step = fetches ? ahead.row : 0, other_step = is_short ? ahead.row : source.step;
    const std::int64_t count = fetches ? smaller(left, is_short ? kHalfRows<kRows> : kRows) : left;
#pragma GCC unroll 2
    for (std::int64_t k = 0; k < count; ++k, b += t.b_next, other += other_step, written += written_step) {
      __builtin_prefetch(other, 0, 2);  // to the second cache: the first is full
      __builtin_prefetch(written, 1);
      Vec row[kVectors];
      load_row(row, b, t.last_lanes);
#pragma GCC unroll 16
      for (int r = kBegin; r < kEnd; ++r) add_product(sums[r], base[r / 3][(r % 3) * step], row);
#pragma GCC unroll 16
      for (int g = 0; g < kBases; ++g) {
        ++base[g];
        asm("" : "+r"(base[g]));  // keeps the compiler from making a pointer a row after all
      }
    }
    if (!is_short) read = other;
    left -= count;
  }
}

template <int kRows, int kVectors, typename B>
THIMBLE_INLINE void add_rows(TileSums<kRows, kVectors>& sums, const TileWork& t, std::int64_t inner, const Unit* a,
                             const B* b, const RowsAhead& ahead) {
  if (inner == 0 && t.skips_first) {
    add_run_of_rows<1, kRows>(sums, t, a, b, ahead);
  } else if (inner + 1 == t.inner && t.skips_last) {
    add_run_of_rows<0, kRows - 1>(sums, t, a, b, ahead);
  } else {
    add_run_of_rows<0, kRows>(sums, t, a, b, ahead);
  }
}

template <int kRows, int kVectors, typename B, bool kColumns, bool kApart>
void tile(const TileWork& t) noexcept {
  TileSums<kRows, kVectors> sums;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sums[r][v] = zero();
  }
  if (kColumns && t.adds) fetch_rows<kRows, kVectors>(reinterpret_cast<const std::byte*>(t.c), t.c_row * 4, 4);
  [[maybe_unused]] LinesAhead lines(t);
  [[maybe_unused]] RowsAhead ahead;
  if constexpr (!kColumns) ahead.plan<kRows, kVectors, kApart>(t);
  for (std::int64_t outer = 0; outer < t.outer; ++outer) {
    for (std::int64_t inner = 0; inner < t.inner; ++inner) {
      const Unit* a = t.a + outer * t.a_outer + inner * t.a_inner;
      const B* b = static_cast<const B*>(t.b) + outer * t.b_outer + inner * t.b_inner;
      if constexpr (kColumns) {
        add_run_of_columns<kRows, kVectors>(sums, t, a, b, lines);
        lines.first += t.count * lines.step;
      } else {
        add_rows<kRows, kVectors>(sums, t, inner, a, b, ahead);
        ahead.count = 0;
      }
    }
  }
  if constexpr (kIsSplit<kVectors, B>) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) unsplit(sums[r][0], sums[r][1]);
  }
  if constexpr (kHasPairs) {
    if (t.narrow != nullptr) return end_narrow_sums(sums, t);
  }
  end_sums<kApart>(sums, t);
}

template <typename B, bool kColumns, bool kApart, int... kRow>
constexpr TileTable all_tiles(std::integer_sequence<int, kRow...>) {
  return {{tile<kRow + 1, 1, B, kColumns, kApart>...}, {tile<kRow + 1, 2, B, kColumns, kApart>...}};
}

template <typename B, bool kColumns, bool kApart>
constexpr TileTable Tiles<B, kColumns, kApart>::table =
    all_tiles<B, kColumns, kApart>(std::make_integer_sequence<int, kTileRows>{});

}  // namespace thimble::kernels::THIMBLE_ISA
