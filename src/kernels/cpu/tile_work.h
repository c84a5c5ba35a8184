// What a tile is asked for, whatever registers hold its sums, and how sums end:
//   c[r, n] (+)= sum over k of a[r, k] * b[k, n],
// with the reduction k walked in three nested strides.
#pragma once

#include "kernels/cpu/stream.h"
#include "kernels/cpu/units.h"

namespace thimble::kernels::THIMBLE_ISA {

// As many sums as fit the registers, 16 on AVX2 and 32 elsewhere, beside two vectors of b and one broadcast of a; or
// four matrix registers.
constexpr int kTileRows = kHasMatrices ? 32 : kIsa == Isa::avx2 ? 6 : 14;
constexpr int kTileVectors = 2;
constexpr std::int64_t kTileColumns = kTileVectors * kLanes;

// Strides are in units of a and elements of b and c. k runs over outer x inner x count.
struct TileWork {
  const Unit* a = nullptr;
  std::int64_t a_row = 0;   // from one row of the tile to the next
  std::int64_t a_next = 1;  // from one k to the next; one of a_row and a_next is 1
  std::int64_t a_inner = 0, a_outer = 0;
  const void* b = nullptr;  // f32 or bf16, pairs if a is made of them
  std::int64_t b_next = 0, b_inner = 0, b_outer = 0;
  std::int64_t b_column = 1;  // from one column to the next; matrix registers want b_next to be 1 where a_row is
  std::int64_t count = 0, inner = 1, outer = 1;
  float* c = nullptr;
  std::int64_t c_row = 0;
  int last_lanes = kLanes;  // columns in the last vector
  // What is read next, fetched a line a step of k, by tiles of vectors; null: not known. Where the reduction lies side
  // by side in a, for the first run of `count` alone.
  const std::byte* ahead = nullptr;
  std::int64_t ahead_step = kLineBytes;
  // The first row of the tile sees nothing of the first inner step, the last row nothing of the last: the border of a
  // padded map.
  bool skips_first = false, skips_last = false;
  bool adds = false;              // to what c holds; else c is overwritten
  const float* addend = nullptr;  // what is added instead of c, laid out as c is
  bool streams = false;           // c is written past the caches: whole lines, which nobody reads soon
  // What is stored is summed up too, a sum a column, by tiles of vectors: deviations from an origin, and their squares.
  const float* origin = nullptr;  // null: it is not
  float *deviations = nullptr, *squares = nullptr;

  // Such tiles are compiled apart: what these endings hold would cost all others registers.
  bool ends_apart() const { return streams || origin != nullptr; }

  // Where units are pairs: the sums go here instead, rounded, and this is added before; laid out as c would be.
  BFloat16* narrow = nullptr;
  const BFloat16* narrow_addend = nullptr;
};

template <int kRows, int kVectors>
using TileSums = Vec[kRows][kVectors];

// Two vectors of bf16 are cheaper to widen together than one after the other.
template <int kVectors, typename B>
inline constexpr bool kIsSplit = kVectors == 2 && sizeof(B) == 2;

template <int kVectors, typename B>
THIMBLE_INLINE void load_row(Vec (&row)[kVectors], const B* b, int last_lanes) {
  if constexpr (kIsSplit<kVectors, B>) {
    load_split(row[0], row[1], b, kLanes + last_lanes);
    return;
  }
  if constexpr (kVectors == 2) row[0] = load(b);
  const B* last = b + (kVectors - 1) * kLanes;
  // Only AVX-512 has masked loads of every element: elsewhere the whole vector, nearly always met, is worth a branch.
  if (kLanes != 16 && last_lanes == kLanes) {
    row[kVectors - 1] = load(last);
  } else {
    row[kVectors - 1] = load_first(last, last_lanes);
  }
}

template <int kVectors>
THIMBLE_INLINE void add_product(Vec (&sum)[kVectors], Unit a, const Vec (&b)[kVectors]) {
  const Vec wide = broadcast(a);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) sum[v] = multiply_add(wide, b[v], sum[v]);
}

// Ends of sums read the tile's numbers first: the compiler must fear that storing a row changes them.
template <int kRows, int kVectors>
THIMBLE_INLINE void end_narrow_sums(TileSums<kRows, kVectors>& sums, const TileWork& t) {
  const std::int64_t step = t.c_row;
  const int last_lanes = t.last_lanes;
  BFloat16* to = t.narrow;
  const BFloat16* addend = t.narrow_addend;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r, to += step) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      const bool is_whole = v + 1 < kVectors || last_lanes == kLanes;
      if (addend != nullptr)
        sums[r][v] = add(load_first(addend + v * kLanes, is_whole ? kLanes : last_lanes), sums[r][v]);
      if (is_whole) {
        store(to + v * kLanes, sums[r][v]);
      } else {
        store_first(to + v * kLanes, sums[r][v], last_lanes);
      }
    }
    if (addend != nullptr) addend += step;
  }
}

template <int kVectors>
THIMBLE_INLINE void store_row(float* c, const Vec (&row)[kVectors], int last_lanes) {
  if constexpr (kVectors == 2) store(c, row[0]);
  float* last = c + (kVectors - 1) * kLanes;
  if (last_lanes == kLanes) {  // masked stores are slow on some processors
    store(last, row[kVectors - 1]);
  } else {
    store_first(last, row[kVectors - 1], last_lanes);
  }
}

// Rows of finished sums to c, past the caches or not. Each leaves its registers to the deviations of what it stored:
// two chains of them, so that additions do not wait for each other.
template <bool kStreams, bool kWatches, int kRows, int kVectors>
THIMBLE_INLINE void store_apart(const TileSums<kRows, kVectors>& sums, const TileWork& t) {
  constexpr int kChains = kRows > 1 ? 2 : 1;
  const std::int64_t step = t.c_row;
  const int last_lanes = t.last_lanes;
  float* c = t.c;
  [[maybe_unused]] Vec origin[kVectors], deviations[kChains][kVectors], squares[kChains][kVectors];
  if constexpr (kWatches) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) origin[v] = load(t.origin + v * kLanes);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r, c += step) {
    if constexpr (kStreams) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) stream(c + v * kLanes, sums[r][v]);
    } else {
      store_row(c, sums[r], last_lanes);
    }
    if constexpr (kWatches) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        const Vec distance = sub(sums[r][v], origin[v]);
        Vec& own = deviations[r % kChains][v];
        Vec& square = squares[r % kChains][v];
        own = r < kChains ? distance : add(own, distance);
        square = r < kChains ? mul(distance, distance) : fma(distance, distance, square);
      }
    }
  }
  if constexpr (kWatches) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kChains == 2) {
        deviations[0][v] = add(deviations[0][v], deviations[1][v]);
        squares[0][v] = add(squares[0][v], squares[1][v]);
      }
      store(t.deviations + v * kLanes, add(load(t.deviations + v * kLanes), deviations[0][v]));
      store(t.squares + v * kLanes, add(load(t.squares + v * kLanes), squares[0][v]));
    }
  }
}

// Totals of earlier calls are added last: sums of sums lose less than one long sum, and no load delays the start.
template <bool kApart, int kRows, int kVectors>
THIMBLE_INLINE void end_sums(TileSums<kRows, kVectors>& sums, const TileWork& t) {
  const std::int64_t step = t.c_row;
  const int last_lanes = t.last_lanes;
  const bool adds = t.adds;
  float* c = t.c;
  const float* addend = t.addend == nullptr ? c : t.addend;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r, c += step, addend += step) {
    if (adds) {
      Vec total[kVectors];
      load_row(total, addend, last_lanes);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sums[r][v] = add(total[v], sums[r][v]);
    }
    if constexpr (!kApart) store_row(c, sums[r], last_lanes);
  }
  if constexpr (kApart) {
    const bool watches = t.origin != nullptr;
    if constexpr (kFillsLine<float>) {
      if (t.streams) return watches ? store_apart<true, true>(sums, t) : store_apart<true, false>(sums, t);
    }
    store_apart<false, true>(sums, t);  // nothing but watching is left
  }
}

}  // namespace thimble::kernels::THIMBLE_ISA
