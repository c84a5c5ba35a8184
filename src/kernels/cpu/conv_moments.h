// Mean and rstd of every channel of what a convolution makes, gathered piece by piece while it lies in the caches: the
// norm behind it need not read it once more. Pieces are always the same for the same shape and number of threads, so
// the sums are too.
#pragma once

#include "kernels/cpu/moments.h"

namespace thimble::kernels::THIMBLE_ISA {

// What a convolution is asked for beside its output.
struct OutMoments {
  std::int64_t channels = 0;  // 0: nobody asks
  double eps = 0;

  bool exists() const { return channels > 0; }
  std::int64_t row() const { return round_up(channels, 16); }
  std::int64_t elements() const { return 7 * row(); }  // of one thread's sums: three rows of double, one of f32
};

inline OutMoments out_moments(const KernelQuery& q) {
  if (q.out.size() == 1) return {};
  return {q.out[1].shape.count(), q.attributes->number("moments_eps")};
}

// One thread's sums of deviations and of their squares. The origin is the first value seen, then the mean of all seen
// whenever their number has doubled: close enough that neither large means nor long sums cost precision.
class PieceMoments {
 public:
  PieceMoments(const OutMoments& what, float* buffer)
      : channels_(what.channels),
        first_(reinterpret_cast<double*>(buffer)),
        second_(first_ + what.row()),
        rows_(second_ + what.row()),
        origin_(reinterpret_cast<float*>(rows_ + what.row())) {}

  void clear() const {
    kernels::THIMBLE_ISA::clear(first_, channels_);
    kernels::THIMBLE_ISA::clear(second_, channels_);
    kernels::THIMBLE_ISA::clear(rows_, channels_);
  }

  // Columns [column, column + columns) of a few neighbouring pixels, all channels apart: few enough that f32 sums of
  // them stay precise, and just stored, so that they are still in the first cache.
  template <typename T>
  void add_rows(const T* y, std::int64_t rows, std::int64_t column, std::int64_t columns) const {
    float* origin = origin_ + column;
    if (!has_origin(column))
      each_vector(0, columns, [&](std::int64_t c, auto lanes) { store(origin + c, load(y + c, lanes), lanes); });
    each_panel(
        0, rows, columns, 0, [&](const auto& place) __attribute__((always_inline)) {
          sum_panel<false>(place, channels_, MomentTerms<T>{y, origin}, first_ + column, second_ + column);
        });
    count_rows(rows, column, columns);
  }

  // What deviations of some columns are taken from; `value` if nothing was seen yet.
  template <typename Lanes>
  [[gnu::always_inline]] Vec origin(std::int64_t column, Vec value, Lanes lanes) const {
    if (!has_origin(column)) store(origin_ + column, value, lanes);
    return load(origin_ + column, lanes);
  }
  bool has_origin(std::int64_t column) const { return rows_[column] > 0; }
  const float* origins(std::int64_t column) const { return origin_ + column; }

  // Sums of columns that have an origin.
  void add_sums(std::int64_t rows, std::int64_t column, std::int64_t columns, const float* deviations,
                const float* squares) const {
    each_vector(0, columns, [&](std::int64_t c, auto lanes) {
      add_to(first_ + column + c, load(deviations + c, lanes), lanes);
      add_to(second_ + column + c, load(squares + c, lanes), lanes);
    });
    count_rows(rows, column, columns);
  }
  // Out of line, since loops end in it that are compiled many times.
  template <typename Lanes>
  [[gnu::noinline]] void add_sums(std::int64_t rows, std::int64_t column, Vec deviations, Vec squares,
                                  Lanes lanes) const {
    add_to(first_ + column, deviations, lanes);
    add_to(second_ + column, squares, lanes);
    count_rows(rows, column, lanes.count);
  }

  Moments of(std::int64_t channel) const {
    if (rows_[channel] == 0) return {};
    return moments_of_sums(rows_[channel], origin_[channel], first_[channel], second_[channel]);
  }

 private:
  void count_rows(std::int64_t count, std::int64_t column, std::int64_t columns) const {
    const auto before = static_cast<std::uint64_t>(rows_[column]), after = before + static_cast<std::uint64_t>(count);
    const auto rows = static_cast<double>(after);
    for (std::int64_t c = column; c < column + columns; ++c) rows_[c] = rows;
    if (std::bit_width(before) != std::bit_width(after)) move_origins(column, columns);
  }

  // Exact but for the rounding of double: d' = d - move.
  void move_origins(std::int64_t column, std::int64_t columns) const {
    for (std::int64_t c = column; c < column + columns; ++c) {
      const float moved = origin_[c] + static_cast<float>(first_[c] / rows_[c]);
      const double move = static_cast<double>(moved) - static_cast<double>(origin_[c]);
      second_[c] += move * (rows_[c] * move - 2 * first_[c]);
      first_[c] -= rows_[c] * move;
      origin_[c] = moved;
    }
  }

  std::int64_t channels_;
  double *first_, *second_, *rows_;
  float* origin_;
};

// Sums of a few hundred pixels, at most, of one vector of channels, in registers.
template <typename Lanes>
struct VectorMoments {
  std::int64_t column;
  Lanes lanes;
  std::int64_t count = 0;
  Vec origin = zero(), deviations = zero(), squares = zero();

  // Of `value` as it was stored: rounded, if it was.
  template <typename T>
  [[gnu::always_inline]] void take(const PieceMoments& all, Vec value, const T* stored) {
    if constexpr (!std::is_same_v<T, float>) value = load(stored, lanes);
    if (count++ == 0) origin = all.origin(column, value, lanes);
    const Vec distance = sub(value, origin);
    deviations = add(deviations, distance);
    squares = fma(distance, distance, squares);
  }
  [[gnu::always_inline]] void close(const PieceMoments& all) const {
    if (count > 0) all.add_sums(count, column, deviations, squares, lanes);
  }
};

// The sums of all threads, `stride` elements apart, each behind what else the thread's buffer holds.
struct ThreadMoments {
  OutMoments what;
  float* buffers = nullptr;
  std::int64_t stride = 0;
  int threads = 1;

  PieceMoments of(int thread) const { return {what, buffers + thread * stride}; }
  void clear() const {
    for (int thread = 0; thread < threads && what.exists(); ++thread) of(thread).clear();
  }
  void store_to(std::span<const TensorView> out) const {
    for (std::int64_t c = 0; c < what.channels; ++c) {
      Moments all;
      for (int thread = 0; thread < threads; ++thread) all = joined(all, of(thread).of(c));
      store(out[1], c, all.mean);
      store(out[2], c, rstd_of(all, what.eps));
    }
  }
};

}  // namespace thimble::kernels::THIMBLE_ISA
