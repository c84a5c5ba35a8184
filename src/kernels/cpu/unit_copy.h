// Copies that make units of what lies in memory as rows of elements.
#pragma once

#include "kernels/cpu/tile_border.h"

namespace thimble::kernels::THIMBLE_ISA {

// `count` elements as those of units.
template <typename T>
THIMBLE_INLINE void copy_elements(UnitElement* to, const T* from, std::int64_t count) {
  if constexpr (std::is_same_v<T, UnitElement>) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  } else {
    each_vector(0, count, [&](std::int64_t i, auto lanes) { store(to + i, load(from + i, lanes), lanes); });
  }
}

// Units along the rows: row i of `to` holds from[kUnitElements * i ...][n] as one unit.
template <typename T>
void join_rows(Unit* to, std::int64_t to_row, const T* from, std::int64_t from_row, std::int64_t rows,
               std::int64_t columns) noexcept {
  for (std::int64_t i = 0; i < rows; i += kUnitElements, to += to_row, from += kUnitElements * from_row) {
    const T* second = kHasPairs && i + 1 < rows ? from + from_row : nullptr;
    std::int64_t begin = 0;
    if constexpr (kHasPairs && std::is_same_v<T, UnitElement>) {
      constexpr std::int64_t kElements = kUnitElements * kLanes;
      for (; second != nullptr && begin + kElements <= columns; begin += kElements) {
        Vec a = load_units(from + begin, kElements), b = load_units(second + begin, kElements);
        interleave(a, b);
        store(to + begin, a);
        store(to + begin + kLanes, b);
      }
    }
    each_vector(begin, columns, [&](std::int64_t n, auto lanes) {
      const Vec a = load(from + n, lanes), b = second == nullptr ? zero() : load(second + n, lanes);
      store(to + n, sizeof(T) == 2 ? join_widened(a, b) : join(a, b), lanes);
    });
  }
}

// The same transposed: to[n, i] holds from[kUnitElements * i ...][n] as one unit.
template <typename T>
void join_columns(Unit* to, std::int64_t to_row, const T* from, std::int64_t from_row, std::int64_t rows,
                  std::int64_t columns) noexcept {
  const std::int64_t units = units_of(rows);
  for (std::int64_t i = 0; i < units; i += kLanes) {
    for (std::int64_t n = 0; n < columns; n += kLanes) {
      const auto lanes = static_cast<int>(smaller(kLanes, columns - n)),
                 taken = static_cast<int>(smaller(kLanes, units - i));
      Vec block[kLanes];
#pragma GCC unroll 16
      for (int k = 0; k < kLanes; ++k) {
        const std::int64_t row = kUnitElements * (i + k);
        const Vec a = row < rows ? load_first(from + row * from_row + n, lanes) : zero();
        const Vec b = row + 1 < rows ? load_first(from + (row + 1) * from_row + n, lanes) : zero();
        block[k] = sizeof(T) == 2 ? join_widened(a, b) : join(a, b);
      }
      transpose(block);
#pragma GCC unroll 16
      for (int k = 0; k < kLanes; ++k) {
        if (k < lanes) store_first(to + (n + k) * to_row + i, block[k], taken);
      }
    }
  }
}

// Units along the columns: to[j, i] holds from[i, kUnitElements * j ...] as one unit.
template <typename T>
void transpose_to_units(Unit* to, std::int64_t to_row, const T* from, std::int64_t from_row, std::int64_t rows,
                        std::int64_t columns) noexcept {
  for (std::int64_t i = 0; i < rows; i += kLanes) {
    const auto row_lanes = static_cast<int>(smaller(kLanes, rows - i));
    for (std::int64_t j = 0; j < units_of(columns); j += kLanes) {
      const std::int64_t left = columns - j * kUnitElements;
      Vec block[kLanes];
#pragma GCC unroll 16
      for (int k = 0; k < kLanes; ++k) {
        block[k] = k < row_lanes ? load_units(from + (i + k) * from_row + j * kUnitElements, left) : zero();
      }
      transpose(block);
#pragma GCC unroll 16
      for (int k = 0; k < kLanes; ++k) {
        if (k < units_of(left)) store_first(to + (j + k) * to_row + i, block[k], row_lanes);
      }
    }
  }
}

}  // namespace thimble::kernels::THIMBLE_ISA
