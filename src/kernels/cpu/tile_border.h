// What happens between memory and the f32 tiles: conversion on the way in; bias, rectifier and conversion on the way
// out.
#pragma once

#include "kernels/cpu/activation.h"
#include "kernels/cpu/conv_moments.h"
#include "kernels/cpu/tile.h"

namespace thimble::kernels::THIMBLE_ISA {

THIMBLE_INLINE float widen(float value) { return value; }
THIMBLE_INLINE float widen(BFloat16 value) { return to_float(value); }

template <typename T>
THIMBLE_INLINE void copy_to_f32(float* to, const T* from, std::int64_t count) {
  for_vectors(
      0, count, [&](std::int64_t i) { store(to + i, load(from + i)); },
      [&](std::int64_t i, int lanes) { store_first(to + i, load_first(from + i, lanes), lanes); });
}

template <typename T>
THIMBLE_INLINE void fill_zero(T* to, std::int64_t count) {
  for_vectors(
      0, count, [&](std::int64_t i) { store(to + i, zero()); },
      [&](std::int64_t i, int lanes) { store_first(to + i, zero(), lanes); });
}

// What a sum still needs when its products are added up.
struct Ending {
  const TensorView* bias = nullptr;  // one element a column; null: none
  Activation activation = Activation::none;
  const TensorView* addend = nullptr;     // shaped like the output; null: none
  const PieceMoments* moments = nullptr;  // gathered of what is stored; null: none
  bool streams = false;                   // f32 rows of whole lines go past the caches
};

// `sums` (rows, kTileColumns) to element `place` of `out`; `column` is the first column's place in the bias.
template <typename Out>
void finish_tile(const float* sums, const Ending& ending, std::int64_t column, std::int64_t rows, std::int64_t columns,
                 Out* out, std::int64_t place, std::int64_t out_row) noexcept {
  alignas(64) float offset[kTileColumns] = {};
  if (ending.bias != nullptr) {
    with_element(ending.bias->dtype, [&](auto element) {
      copy_to_f32(offset, ending.bias->as<const decltype(element)>() + column, columns);
    });
  }
  const Out* addend = ending.addend == nullptr ? nullptr : ending.addend->as<const Out>();
  for (std::int64_t r = 0; r < rows; ++r, sums += kTileColumns, place += out_row) {
    for (std::int64_t n = 0; n < columns; n += kLanes) {
      const auto lanes = static_cast<int>(smaller(kLanes, columns - n));
      Vec sum = add(load(sums + n), load(offset + n));
      if (addend != nullptr) sum = add(load_first(addend + place + n, lanes), sum);
      store_first(out + place + n, activate(ending.activation, sum), lanes);
    }
  }
}

// Where a strip of tile rows meets the border of a padded map, as TileWork's skips.
struct StripBorder {
  bool skips_first = false, skips_last = false;
};

// A strip of tile rows that makes way for one tile after the other and comes back in the end: copies of it would wait
// for what was just written to it.
class Strip {
 public:
  Strip(TileWork& t, const StripBorder& border, std::int64_t rows)
      : t_(t), border_(border), rows_(rows), a_(t.a), count_(t.count), inner_(t.inner), ahead_(t.ahead) {}
  ~Strip() { restore(); }
  Strip(const Strip&) = delete;
  Strip& operator=(const Strip&) = delete;

  [[gnu::always_inline]] void take(std::int64_t begin, std::int64_t end) {
    restore();
    t_.a += begin * t_.a_row;
    t_.skips_first = border_.skips_first && begin == 0;
    t_.skips_last = border_.skips_last && end == rows_;
    const bool is_whole = !kHasMatrices || t_.count % kLanes == 0;  // where runs end shows in a sum
    if (t_.a_next == 1 && t_.a_inner == t_.count && !t_.skips_first && !t_.skips_last &&
        is_whole) {  // inner steps lie side by side: one long run
      t_.count *= t_.inner;
      t_.inner = 1;
    }
    if (t_.outer * t_.inner == 1 && t_.a_row == t_.count)
      t_.ahead = reinterpret_cast<const std::byte*>(t_.a + (end - begin) * t_.a_row);
  }

 private:
  [[gnu::always_inline]] void restore() { t_.a = a_, t_.count = count_, t_.inner = inner_, t_.ahead = ahead_; }

  TileWork& t_;
  StripBorder border_;
  std::int64_t rows_;
  const Unit* a_;
  std::int64_t count_, inner_;
  const std::byte* ahead_;
};

// Sums of the columns of neighbouring tiles, in f32: of few enough rows to stay precise.
class TileMoments {
 public:
  TileMoments(const PieceMoments* all, std::int64_t column, std::int64_t columns)
      : all_(all), column_(column), columns_(columns) {}
  ~TileMoments() { close(); }

  // Lets the tile sum up what it stores, unless nothing was stored yet that could be the origin.
  bool watch(TileWork& t, std::int64_t rows) {
    if (rows_ + rows > kMostRows) close();
    t.origin = nullptr;
    if (!all_->has_origin(column_)) return false;
    if (rows_ == 0) {
      fill_zero(origin_, kTileColumns);
      fill_zero(deviations_, kTileColumns);
      fill_zero(squares_, kTileColumns);
      std::memcpy(origin_, all_->origins(column_), static_cast<std::size_t>(columns_) * sizeof(float));
    }
    rows_ += rows;
    t.origin = origin_, t.deviations = deviations_, t.squares = squares_;
    return true;
  }
  void close() {
    if (rows_ > 0) all_->add_sums(rows_, column_, columns_, deviations_, squares_);
    rows_ = 0;
  }

 private:
  static constexpr std::int64_t kMostRows = 112;

  const PieceMoments* all_;
  std::int64_t column_, columns_, rows_ = 0;
  alignas(64) float origin_[kTileColumns], deviations_[kTileColumns], squares_[kTileColumns];
};

// All rows of a product of at most kTileColumns columns, to element `first` of `out`, whose rows are `out_row` apart.
// What `queue` holds is fetched meanwhile. Without kMayEndApart nothing is streamed and no moments are gathered.
template <typename B, bool kColumns, bool kMayEndApart>
void run_tiles_to(const TensorView& out, const Ending& ending, TileWork& t, const StripBorder& border,
                  std::int64_t rows, std::int64_t column, std::int64_t columns, std::int64_t first,
                  std::int64_t out_row, FetchQueue* queue = nullptr) noexcept {
  alignas(64) float sums[kTileRows * kTileColumns];
  const bool is_plain = ending.bias == nullptr && ending.activation == Activation::none;
  const bool is_direct = is_plain && (kHasPairs || out.dtype == DType::f32);
  const bool is_narrow = is_direct && out.dtype == DType::bf16;
  const bool may_watch = !kHasPairs && is_direct && ending.moments != nullptr;
  const bool is_of_lines =
      ending.streams && column % kLanes == 0 && columns % kLanes == 0;  // groups may begin anywhere
  TileMoments moments(ending.moments, column, columns);
  Strip strip(t, border, rows);
  for_tiles(rows, most_rows(t), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t place = first + begin * out_row;
    strip.take(begin, end);
    if (const std::byte* ahead = queue == nullptr ? nullptr : queue->take(t.count); ahead != nullptr) t.ahead = ahead;
    t.c = is_direct ? out.as<float>() + place : sums;
    t.c_row = is_direct ? out_row : kTileColumns;
    if (is_narrow) {
      t.narrow = out.as<BFloat16>() + place;
      if (ending.addend != nullptr) t.narrow_addend = ending.addend->as<const BFloat16>() + place;
    } else if (is_direct && ending.addend != nullptr) {
      t.adds = true;
      t.addend = ending.addend->as<const float>() + place;
    }
    const bool is_watched = may_watch && moments.watch(t, end - begin);
    t.streams = is_direct && is_of_lines && (is_watched || ending.moments == nullptr);
    if constexpr (kMayEndApart) {
      t.ends_apart() ? run_tile<B, kColumns, true>(t, end - begin, columns)
                     : run_tile<B, kColumns>(t, end - begin, columns);
    } else {
      run_tile<B, kColumns>(t, end - begin, columns);
    }
    if (is_direct && (is_watched || ending.moments == nullptr)) return;
    with_element(out.dtype, [&](auto element) {
      auto* to = out.as<decltype(element)>();
      if (!is_direct) finish_tile(sums, ending, column, end - begin, columns, to, place, out_row);
      if (ending.moments != nullptr) ending.moments->add_rows(to + place, end - begin, column, columns);
    });
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA
