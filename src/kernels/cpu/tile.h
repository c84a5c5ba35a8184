// The one inner loop of convolutions and matrix products: a tile of `rows` x (`vectors` vectors) sums that stay in
// registers (tile_work.h). Every sum is added in the same order whatever the tile, so that neither blocking nor threads
// change a bit.
#pragma once

#if defined(THIMBLE_ISA_AMX_BF16)
#include "kernels/cpu/tile_matrix.h"
#else
#include "kernels/cpu/tile_work.h"
#endif

namespace thimble::kernels::THIMBLE_ISA {

#if !defined(THIMBLE_ISA_AMX_BF16)

using TileFunction = void (*)(const TileWork&) noexcept;

// A tile of every height, one vector wide and two.
struct TileTable {
  TileFunction narrow[kTileRows], wide[kTileRows];
};

// Many functions: all kernels share those that parts/ compiles. kColumns says that a_row is 1, else a_next is; kApart
// that sums end apart.
template <typename B, bool kColumns, bool kApart>
struct Tiles {
  static const TileTable table;
};
extern template struct Tiles<Unit, false, false>;
extern template struct Tiles<Unit, true, false>;
#if !defined(THIMBLE_ISA_AVX512_BF16)
extern template struct Tiles<Unit, false, true>;
extern template struct Tiles<BFloat16, false, false>;
extern template struct Tiles<BFloat16, false, true>;
extern template struct Tiles<BFloat16, true, false>;
#endif

// One piece of at most kTileRows x kTileColumns.
template <typename B, bool kColumns, bool kApart = false>
THIMBLE_INLINE void run_tile(TileWork& t, std::int64_t rows, std::int64_t columns) {
  t.last_lanes = static_cast<int>(columns > kLanes ? columns - kLanes : columns);
  const TileTable& table = Tiles<B, kColumns, kApart>::table;
  (columns > kLanes ? table.wide : table.narrow)[rows - 1](t);
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
