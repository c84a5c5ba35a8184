// The one inner loop of convolutions and matrix products: a tile of `rows` x (`vectors` vectors) sums that stay in
// registers (tile_work.h). Every sum is added in the same order whatever the tile, so that neither blocking nor threads
// change a bit.
#pragma once

#include <utility>

#if defined(THIMBLE_ISA_AMX_BF16)
#include "kernels/cpu/tile_matrix.h"
#else
#include "kernels/cpu/tile_fetch.h"
#endif

namespace thimble::kernels::THIMBLE_ISA {

#if !defined(THIMBLE_ISA_AMX_BF16)

using TileFunction = void (*)(const TileWork&) noexcept;

template <int kVectors>
THIMBLE_INLINE void add_product(Vec (&sum)[kVectors], Unit a, const Vec (&b)[kVectors]) {
  const Vec wide = broadcast(a);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) sum[v] = multiply_add(wide, b[v], sum[v]);
}

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
TileFunction find_tile(std::integer_sequence<int, kRow...>, std::int64_t rows, std::int64_t columns) {
  static constexpr TileFunction kNarrow[] = {tile<kRow + 1, 1, B, kColumns, kApart>...};
  static constexpr TileFunction kWide[] = {tile<kRow + 1, 2, B, kColumns, kApart>...};
  return (columns > kLanes ? kWide : kNarrow)[rows - 1];
}

// One piece of at most kTileRows x kTileColumns. kColumns says that a_row is 1, else a_next is; kApart that it ends
// apart.
template <typename B, bool kColumns, bool kApart = false>
THIMBLE_INLINE void run_tile(TileWork& t, std::int64_t rows, std::int64_t columns) {
  t.last_lanes = static_cast<int>(columns > kLanes ? columns - kLanes : columns);
  find_tile<B, kColumns, kApart>(std::make_integer_sequence<int, kTileRows>{}, rows, columns)(t);
}

// Vector registers are nobody's to let go of.
struct TileRegisters {};

#endif

// Rows a whole number of pages apart meet in one set of the first cache: of more than its eight ways can hold, each
// would push out the next.
THIMBLE_INLINE int most_rows(const TileWork& t) {
  constexpr std::int64_t kPage = 4096;
  constexpr int kRowsOfOneSet = 7;  // beside what else is read
  const bool meets = !kHasMatrices && t.a_next == 1 && t.a_row * static_cast<std::int64_t>(sizeof(Unit)) % kPage == 0;
  return meets && kTileRows > kRowsOfOneSet ? kRowsOfOneSet : kTileRows;
}

// Calls body(begin, end) on nearly equal pieces of [0, rows), each at most `most` high: 32 rows are 11 + 10 + 11, not
// 14 + 14 + 4.
template <typename Body>
THIMBLE_INLINE void for_tiles(std::int64_t rows, int most, Body&& body) {
  const auto pieces = static_cast<int>((rows + most - 1) / most);
  for (int piece = 0; piece < pieces; ++piece) {
    const Range range = part_of(rows, piece, pieces);
    body(range.begin, range.end);
  }
}

// Part of a matrix that is read soon, line by line: tiles that multiply meanwhile each fetch a few.
struct FetchQueue {
  const std::byte* first = nullptr;
  std::int64_t row = 0;              // bytes from one row to the next
  std::int64_t rows = 0, lines = 0;  // lines in each row
  std::int64_t taken = 0, line = 0;  // rows of the line at which it is

  // What the next `count` steps of a tile fetch; null: nothing is left.
  const std::byte* take(std::int64_t count) {
    if (line >= lines) return nullptr;
    const std::byte* at = first + taken * row + line * kLineBytes;
    taken += count;
    if (taken >= rows) taken = 0, ++line;
    return at;
  }
};

// All rows x columns of a product that goes straight to c, f32. Columns at most kTileColumns. The work is left as it
// was: a copy would wait for what was just written to it, longer than a short tile takes.
template <typename B, bool kColumns>
void run_tiles(TileWork& t, std::int64_t rows, std::int64_t columns, std::span<FetchQueue> queues = {}) noexcept {
  const Unit* a = t.a;
  float* c = t.c;
  for_tiles(rows, most_rows(t), [&](std::int64_t begin, std::int64_t end) {
    t.a = a + begin * t.a_row;
    t.c = c + begin * t.c_row;
    t.ahead = nullptr;
    for (FetchQueue& queue : queues) {
      if (t.ahead != nullptr) break;
      t.ahead = queue.take(t.count * t.inner * t.outer);
      t.ahead_step = queue.row;
    }
    run_tile<B, kColumns>(t, end - begin, columns);
  });
  t.a = a;
  t.c = c;
}

}  // namespace thimble::kernels::THIMBLE_ISA
