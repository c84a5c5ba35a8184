// A tile whose sums stay in the matrix registers of AMX, eight of 16 rows of 64 bytes each: up to 32 x 32 sums in four
// of them, rows of a in two and columns of b in two. One instruction adds the products of 16 pairs of the reduction to
// 16 x 16 sums. The 16 are counted from the beginning of each run, whatever the tile, and what a run lacks of the last
// 16 is zero: neither blocking nor threads change a bit.
#pragma once

#include "base/matrix_registers.h"
#include "kernels/cpu/tile_work.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr int kMatrixRows = 16;
constexpr std::int64_t kMatrixPairs = 16;  // in a row
static_assert(kTileRows == 2 * kMatrixRows && kTileColumns == 2 * kMatrixRows && kLanes == kMatrixRows);

// What each register is for.
constexpr int kFirstRows = 4, kSecondRows = 5, kFirstColumns = 6, kSecondColumns = 7;  // sums are in 0 to 3

// Compilers know neither of the registers nor that memory is read here, unless they are told: intrinsics of some do not
// tell them.
template <int kRegister>
THIMBLE_INLINE void load_matrix(const void* first, std::int64_t row_bytes) {
  asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(first), "r"(row_bytes), "i"(kRegister) : "memory");
}
template <int kRegister>
THIMBLE_INLINE void store_matrix(void* first, std::int64_t row_bytes) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(first), "r"(row_bytes), "i"(kRegister) : "memory");
}
template <int kRegister>
THIMBLE_INLINE void clear_matrix() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kRegister));
}
template <int kSums, int kRows, int kColumns>
THIMBLE_INLINE void add_matrix_product() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kRows), "i"(kColumns));
}

inline thread_local int shaped_rows = 0;  // of the tile that this thread's registers are shaped for; 0: none

// Shapes stay for the tiles that follow, which nearly always have as many rows: products of fewer rows take less time.
THIMBLE_INLINE void shape_registers(int rows) {
  if (rows == shaped_rows) return;
  const int first = rows < kMatrixRows ? rows : kMatrixRows, second = rows > kMatrixRows ? rows - kMatrixRows : first;
  const int heights[] = {first, first, second, second, first, second, kMatrixRows, kMatrixRows};
  MatrixShapes shapes;
  for (int i = 0; i < 8; ++i) {
    shapes.row_bytes[i] = 64;
    shapes.rows[i] = static_cast<std::uint8_t>(heights[i]);
  }
  asm volatile("ldtilecfg %0" ::"m"(shapes));
  shaped_rows = rows;
}

// A thread lets go of the registers when its part of a kernel is done: as long as they are shaped, their 8 KiB are
// saved whenever the system changes threads.
struct TileRegisters {
  TileRegisters() = default;
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
  ~TileRegisters() {
    asm volatile("tilerelease");
    shaped_rows = 0;
  }
};

// Copies of what does not lie in memory as registers want it.
struct MatrixCopies {
  alignas(64) Unit rows[kTileRows][kMatrixPairs];
  alignas(64) Unit columns[kMatrixPairs][kTileColumns];
};

// Part of the reduction: rows of a side by side in it; rows of b, which may lie in several inner steps.
struct MatrixRun {
  const Unit* a = nullptr;
  const Unit* b = nullptr;
  std::int64_t length = 0;
  int blank = -1;  // a row of a that sees nothing of it
};

// A row that sees nothing multiplies zeros, as one that reads written padding does.
THIMBLE_INLINE void copy_rows(MatrixCopies& copies, const TileWork& t, const MatrixRun& run, std::int64_t k, int rows) {
  const auto count = static_cast<int>(smaller(kMatrixPairs, run.length - k));
  for (int r = 0; r < rows; ++r)
    store(copies.rows[r], r == run.blank ? zero() : load_first(run.a + r * t.a_row + k, count));
}

template <int kVectors>
THIMBLE_INLINE void copy_columns(MatrixCopies& copies, const TileWork& t, const MatrixRun& run, std::int64_t k) {
  for (std::int64_t i = 0; i < kMatrixPairs; ++i, ++k) {
    const Unit* row = run.b + k / t.count * t.b_inner + k % t.count * t.b_next;
    for (int v = 0; v < kVectors; ++v) {
      const int lanes = k >= run.length ? 0 : v + 1 < kVectors ? kLanes : t.last_lanes;
      store(copies.columns[i] + v * kLanes, load_first(row + v * kLanes, lanes));
    }
  }
}

template <int kVectors, bool kHasSecond>
THIMBLE_INLINE void add_run(const TileWork& t, const MatrixRun& run, int rows, MatrixCopies& copies) {
  // Whole vectors may be read beyond the last column: what follows a row of b, and behind its last one the rest of the
  // workspace. Nothing of what is made of it is stored.
  const bool reads_columns = t.last_lanes == kLanes || t.b_next >= kVectors * kLanes;
  for (std::int64_t k = 0; k < run.length; k += kMatrixPairs) {
    const bool is_whole = k + kMatrixPairs <= run.length;
    const Unit* a = run.a + k;
    const Unit* b = run.b + k / t.count * t.b_inner + k % t.count * t.b_next;
    std::int64_t a_row = t.a_row, b_row = t.b_next;
    if (!is_whole || run.blank >= 0) {
      copy_rows(copies, t, run, k, rows);
      a = copies.rows[0];
      a_row = kMatrixPairs;
    }
    if (!is_whole || !reads_columns || k % t.count + kMatrixPairs > t.count) {
      copy_columns<kVectors>(copies, t, run, k);
      b = copies.columns[0];
      b_row = kTileColumns;
    }
    constexpr std::int64_t kSize = sizeof(Unit);
    load_matrix<kFirstColumns>(b, b_row * kSize);
    load_matrix<kFirstRows>(a, a_row * kSize);
    add_matrix_product<0, kFirstRows, kFirstColumns>();
    if constexpr (kVectors == 2) {
      load_matrix<kSecondColumns>(b + kLanes, b_row * kSize);
      add_matrix_product<1, kFirstRows, kSecondColumns>();
    }
    if constexpr (kHasSecond) {
      load_matrix<kSecondRows>(a + kMatrixRows * a_row, a_row * kSize);
      add_matrix_product<2, kSecondRows, kFirstColumns>();
      if constexpr (kVectors == 2) add_matrix_product<3, kSecondRows, kSecondColumns>();
    }
  }
}

using MatrixSums = float[kTileRows][kTileColumns];

// The sums of a product whose reduction lies side by side in a. Where inner steps do so too and kJoins allows it, they
// are one run.
template <int kVectors, bool kHasSecond, bool kJoins>
THIMBLE_INLINE void multiply_matrices(MatrixSums& sums, const TileWork& t, int rows) {
  MatrixCopies copies;
  clear_matrix<0>();
  clear_matrix<1>();
  clear_matrix<2>();
  clear_matrix<3>();
  const bool joins = kJoins && t.a_inner == t.count;
  const std::int64_t runs = joins ? 1 : t.inner;
  for (std::int64_t outer = 0; outer < t.outer; ++outer) {
    for (std::int64_t inner = 0; inner < runs; ++inner) {
      MatrixRun run = {.a = t.a + outer * t.a_outer + inner * t.a_inner,
                       .b = static_cast<const Unit*>(t.b) + outer * t.b_outer + inner * t.b_inner,
                       .length = joins ? t.inner * t.count : t.count};
      if (inner == 0 && t.skips_first) {
        run.blank = 0;
      } else if (inner + 1 == t.inner && t.skips_last) {
        run.blank = rows - 1;
      }
      add_run<kVectors, kHasSecond>(t, run, rows, copies);
    }
  }
  constexpr std::int64_t kRowBytes = sizeof(sums[0]);
  store_matrix<0>(&sums[0][0], kRowBytes);
  if constexpr (kVectors == 2) store_matrix<1>(&sums[0][kLanes], kRowBytes);
  if constexpr (kHasSecond) store_matrix<2>(&sums[kMatrixRows][0], kRowBytes);
  if constexpr (kHasSecond && kVectors == 2) store_matrix<3>(&sums[kMatrixRows][kLanes], kRowBytes);
}

template <bool kJoins>
void matrix_sums(MatrixSums& sums, const TileWork& t, int rows, bool is_wide) noexcept {
  shape_registers(rows);
  if (rows > kMatrixRows) {
    is_wide ? multiply_matrices<2, true, kJoins>(sums, t, rows) : multiply_matrices<1, true, kJoins>(sums, t, rows);
  } else {
    is_wide ? multiply_matrices<2, false, kJoins>(sums, t, rows) : multiply_matrices<1, false, kJoins>(sums, t, rows);
  }
}

inline void transpose_sums(MatrixSums& to, const MatrixSums& from, int rows, int columns) noexcept {
  for (int r = 0; r < rows; r += kLanes) {
    for (int n = 0; n < columns; n += kLanes) {
      Vec block[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) block[i] = load(&from[n + i][r]);
      transpose(block);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) store(&to[r + i][n], block[i]);
    }
  }
}

template <int kVectors>
THIMBLE_INLINE void end_rows(const MatrixSums& sums, TileWork t, int rows) {
  const auto step = [&](auto*& place) {
    if (place != nullptr) place += t.c_row;
  };
  for (int r = 0; r < rows; ++r) {
    TileSums<1, kVectors> row;
    for (int v = 0; v < kVectors; ++v) row[0][v] = load(&sums[r][v * kLanes]);
    if (t.narrow != nullptr) {
      end_narrow_sums(row, t);
    } else {
      end_sums<false>(row, t);
    }
    step(t.c);
    step(t.addend);
    step(t.narrow);
    step(t.narrow_addend);
  }
}

// As of vector registers (tile.h). Where rows of the tile lie side by side in a, the reduction does so in b: the
// product is made the other way round and its sums are transposed.
template <typename B, bool kColumns>
void run_tile(TileWork& t, std::int64_t row_count, std::int64_t column_count) noexcept {
  static_assert(std::is_same_v<B, Unit>);
  const auto rows = static_cast<int>(row_count), columns = static_cast<int>(column_count);
  const auto last_lanes = [](int count) { return count > kLanes ? count - kLanes : count; };
  t.last_lanes = last_lanes(columns);
  alignas(64) MatrixSums sums;
  if constexpr (kColumns) {
    TileWork turned = t;
    turned.a = static_cast<const Unit*>(t.b);
    turned.a_row = t.b_column;
    turned.a_inner = t.b_inner;
    turned.a_outer = t.b_outer;
    turned.b = t.a;
    turned.b_next = t.a_next;
    turned.b_inner = t.a_inner;
    turned.b_outer = t.a_outer;
    turned.last_lanes = last_lanes(rows);
    alignas(64) MatrixSums turned_sums;
    matrix_sums<true>(turned_sums, turned, columns, rows > kLanes);
    transpose_sums(sums, turned_sums, rows, columns);
  } else {
    matrix_sums<false>(sums, t, rows, columns > kLanes);
  }
  columns > kLanes ? end_rows<2>(sums, t, rows) : end_rows<1>(sums, t, rows);
}

}  // namespace thimble::kernels::THIMBLE_ISA
