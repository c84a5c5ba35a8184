// Mean and sum of squared deviations of every channel over a range of rows. Deviations are taken from a sampled mean,
// so that neither large means nor long sums cost precision; parts are combined in double (Chan, Golub and LeVeque
// 1983).
#pragma once

#include "kernels/cpu/columns.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr std::int64_t kShiftRows = 8;  // rows whose mean is the origin of the deviations

// One thread's scratch for a pass over columns.
struct ColumnSums {
  float* shift = nullptr;                      // (width)
  double *first = nullptr, *second = nullptr;  // (width) each

  static ColumnSums carve(Carver& carver, const Matrix& m) {
    return {carver.take<float>(m.width()), carver.take<double>(m.width()), carver.take<double>(m.width())};
  }
};

// Of one channel over `rows` rows.
struct Moments {
  double rows = 0;
  double mean = 0;
  double deviations = 0;  // sum of (x - mean)^2
};

// From sums of deviations from an origin and of their squares.
static inline Moments moments_of_sums(double rows, float origin, double first, double second) {
  const double offset = first / rows, deviations = second - first * offset;
  // Written so that NaN stays NaN.
  return {rows, static_cast<double>(origin) + offset, deviations < 0 ? 0 : deviations};
}

template <typename T>
struct MomentTerms {
  const T* x;
  const float* shift;
  struct Panel {
    Vec shift;
  };
  template <typename Lanes>
  [[gnu::always_inline]] Panel open(std::int64_t column, Lanes lanes) const {
    return {load(shift + column, lanes)};
  }
  template <typename Lanes>
  [[gnu::always_inline]] void step(const Panel& panel, std::int64_t index, Lanes lanes, Vec& p, Vec& q) const {
    p = q = sub(load(x + index, lanes), panel.shift);
  }
  [[gnu::always_inline]] void fetch_ahead(std::int64_t index) const { fetch(x + index); }
};

// shift = mean of a few rows spread evenly over the range.
template <typename T>
void sample_shift(const Matrix& m, const T* x, Range elements, float* shift) {
  const std::int64_t rows = (elements.end - elements.begin) / m.channels, sampled = smaller(rows, kShiftRows);
  const Vec inverse = broadcast(1.0F / static_cast<float>(sampled));
  each_vector(0, m.channels, [&](std::int64_t c, auto lanes) {
    Vec sum = zero();
    for (std::int64_t k = 0; k < sampled; ++k) {
      sum = add(sum, load(x + elements.begin + rows * k / sampled * m.channels + c, lanes));
    }
    store(shift + c, mul(sum, inverse), lanes);
  });
  repeat_folds(m, shift);
}

// Leaves moments[c] = {rows, mean, deviations} of the range, which must begin at the start of a row.
template <typename T>
void column_moments(const Matrix& m, const T* x, Range elements, const ColumnSums& sums, Moments* moments) {
  const std::int64_t row_count = (elements.end - elements.begin) / m.channels;
  const auto rows = static_cast<double>(row_count);
  if (elements.begin == elements.end) {
    for (std::int64_t c = 0; c < m.channels; ++c) moments[c] = {};
    return;
  }
  sample_shift(m, x, elements, sums.shift);
  clear(sums.first, m.width());
  clear(sums.second, m.width());
  sum_columns(m, elements, MomentTerms<T>{x, sums.shift}, sums.first, sums.second);
  gather_folds(m, sums.first);
  gather_folds(m, sums.second);
  for (std::int64_t c = 0; c < m.channels; ++c)
    moments[c] = moments_of_sums(rows, sums.shift[c], sums.first[c], sums.second[c]);
}

// Moments of the union of disjoint parts: `runs` runs of `length` neighbours, `stride` apart.
static inline Moments combine_moments(const Moments* parts, std::int64_t runs, std::int64_t length,
                                      std::int64_t stride) {
  Moments all;
  double weighted = 0;
  for (std::int64_t r = 0; r < runs; ++r) {
    for (const Moments* part = parts + r * stride; part < parts + r * stride + length; ++part) {
      all.rows += part->rows;
      weighted += part->rows * part->mean;
    }
  }
  all.mean = weighted / all.rows;
  for (std::int64_t r = 0; r < runs; ++r) {
    for (const Moments* part = parts + r * stride; part < parts + r * stride + length; ++part) {
      const double distance = part->mean - all.mean;
      all.deviations += part->deviations + part->rows * distance * distance;
    }
  }
  return all;
}

// The same of two, one of which may be empty.
static inline Moments joined(const Moments& a, const Moments& b) {
  if (a.rows == 0) return b;
  if (b.rows == 0) return a;
  const double rows = a.rows + b.rows, distance = b.mean - a.mean, part = b.rows / rows;
  return {rows, a.mean + distance * part, a.deviations + b.deviations + distance * distance * a.rows * part};
}

static inline double rstd_of(const Moments& moments, double eps) {
  return 1 / std::sqrt(moments.deviations / moments.rows + eps);
}

}  // namespace thimble::kernels::THIMBLE_ISA
