// The gradient of a depthwise convolution's weights: a product of x and dy for each tap and channel, summed over all
// pixels. Vectors run along channels, the sums of a row of dy wait in registers.
#pragma once

#include "kernels/cpu/conv_depthwise.h"

namespace thimble::kernels::THIMBLE_ISA {

// Columns of dy whose windows lie inside a source that is walked as its taps are: windows share columns, and each is
// read once. Three at a time, so that nothing moves from one register to another; what is left of them begins at the
// place that is returned.
template <int kRows, typename X, typename Y, typename Change, typename Lanes, typename Ahead>
THIMBLE_INLINE std::int64_t slide_weights(const ConvShape& s, const X* x, const Change& change, std::int64_t row_step,
                                          const Y* dy, Range columns, Lanes lanes, const Ahead& step_ahead,
                                          Vec (&sums)[kRows][kUsualTaps]) {
  Vec seen[kUsualTaps][kRows];
  const std::int64_t step = s.stride * s.channels;
  const auto read = [&](Vec(&column)[kRows], const X* from) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i, from += row_step) column[i] = change(load(from, lanes));
  };
  std::int64_t place = columns.begin;
  if (place + kUsualTaps > columns.end) return place;
  for (int j = 0; j + 1 < kUsualTaps; ++j, x += step) read(seen[j], x);
  for (; place + kUsualTaps <= columns.end; place += kUsualTaps) {
#pragma GCC unroll 4
    for (int k = 0; k < kUsualTaps; ++k, x += step, dy += s.channels) {
      read(seen[(k + kUsualTaps - 1) % kUsualTaps], x);
      const Vec y = load(dy, lanes);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < kUsualTaps; ++j) sums[i][j] = fma(seen[(k + j) % kUsualTaps][i], y, sums[i][j]);
      }
      step_ahead();
    }
  }
  return place;
}

// What one row of dy adds to the weight gradient of kRows x kTaps neighbouring taps, for one vector of channels. `x` is
// the row that the first of them reads.
template <int kRows, int kTaps, typename X, typename Y, typename Change, typename Lanes>
THIMBLE_INLINE void depthwise_weight_rows(const ConvShape& s, const X* x, const Change& given, const Y* dy,
                                          std::int64_t first_tap, RowAhead<X>& x_ahead, RowAhead<Y>& dy_ahead,
                                          float* totals, Lanes lanes) {
  const Change change = given;  // a copy, which stays in registers
  Vec sums[kRows][kTaps];
  Range seen[kTaps], whole = {0, s.out_width};
#pragma GCC unroll 4
  for (int j = 0; j < kTaps; ++j) {
    seen[j] = inside_windows(s, (first_tap + j) * s.dilation, s.width, s.out_width);
    whole = {larger(whole.begin, seen[j].begin), smaller(whole.end, seen[j].end)};
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) sums[i][j] = zero();
  }
  whole.end = larger(whole.begin, whole.end);
  const std::int64_t step = s.stride * s.channels, tap_step = s.dilation * s.channels;
  const std::int64_t row_step = s.dilation * s.width * s.channels;
  x += (first_tap * s.dilation - s.padding) * s.channels;
  const auto add_tap = [&](int j, std::int64_t column) {
    const Vec y = load(dy + column * s.channels, lanes);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i)
      sums[i][j] = fma(change(load(x + i * row_step + column * step + j * tap_step, lanes)), y, sums[i][j]);
  };
  const auto step_ahead = [&]() __attribute__((always_inline)) {
    if constexpr (kRows > 1) {  // rows that are taken singly would each fetch the same again
      x_ahead.step();
      dy_ahead.step();
    }
  };
#pragma GCC unroll 4
  for (int j = 0; j < kTaps; ++j) {
    for (std::int64_t column = seen[j].begin; column < smaller(seen[j].end, whole.begin); ++column) add_tap(j, column);
  }
  const X* x_at = x + whole.begin * step;
  const Y* y_at = dy + whole.begin * s.channels;
  std::int64_t inner = whole.begin;
  if constexpr (kTaps == kUsualTaps && kSlides) {
    if (step == tap_step) inner = slide_weights<kRows>(s, x_at, change, row_step, y_at, whole, lanes, step_ahead, sums);
  }
  x_at += (inner - whole.begin) * step;
  y_at += (inner - whole.begin) * s.channels;
  for (std::int64_t column = inner; column < whole.end; ++column, x_at += step, y_at += s.channels) {
    const Vec y = load(y_at, lanes);
    const X* row = x_at;
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i, row += row_step) {
#pragma GCC unroll 4
      for (int j = 0; j < kTaps; ++j) sums[i][j] = fma(change(load(row + j * tap_step, lanes)), y, sums[i][j]);
    }
    step_ahead();
  }
#pragma GCC unroll 4
  for (int j = 0; j < kTaps; ++j) {
    for (std::int64_t column = larger(seen[j].begin, whole.end); column < seen[j].end; ++column) add_tap(j, column);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      float* total = totals + (i * s.kernel_width + first_tap + j) * s.channels;
      store(total, add(load(total, lanes), sums[i][j]), lanes);
    }
  }
}

// All columns of `rows` rows of the kernel.
template <typename X, typename Y, typename Change, typename Lanes>
THIMBLE_INLINE void depthwise_weight_taps(const ConvShape& s, const X* x, const Change& change, const Y* dy,
                                          std::int64_t rows, RowAhead<X>& x_ahead, RowAhead<Y>& dy_ahead, float* totals,
                                          Lanes lanes) {
  if (s.kernel_width == kUsualTaps && rows == 3)
    return depthwise_weight_rows<3, kUsualTaps>(s, x, change, dy, 0, x_ahead, dy_ahead, totals, lanes);
  if (s.kernel_width == kUsualTaps && rows == 2)
    return depthwise_weight_rows<2, kUsualTaps>(s, x, change, dy, 0, x_ahead, dy_ahead, totals, lanes);
  for (std::int64_t i = 0; i < rows; ++i) {
    const X* row = x + i * s.dilation * s.width * s.channels;
    float* row_totals = totals + i * s.kernel_width * s.channels;
    std::int64_t j = 0;
    for (; j + kUsualTaps <= s.kernel_width; j += kUsualTaps)
      depthwise_weight_rows<1, kUsualTaps>(s, row, change, dy, j, x_ahead, dy_ahead, row_totals, lanes);
    for (; j < s.kernel_width; ++j)
      depthwise_weight_rows<1, 1>(s, row, change, dy, j, x_ahead, dy_ahead, row_totals, lanes);
  }
}

// What some rows of dy, counted over all images, add to the totals (KH, KW, C) of some channels.
template <typename X, typename Y, typename Source>
void depthwise_weight_totals(const ConvShape& s, const X* x, const Source& source, const Y* dy, Range rows,
                             Range channels, float* totals) noexcept {
  const std::int64_t x_row = s.width * s.channels, dy_row = s.out_width * s.channels;
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    source.enter(row / s.out_height);
    const std::int64_t top = row % s.out_height * s.stride - s.padding;
    const Range taps = inside_steps(top, s.dilation, s.height, s.kernel_height);
    const X* image = x + row / s.out_height * s.height * x_row;
    // Where threads share out channels, each fetches as much of the row.
    RowAhead<X> x_ahead = {image + (top + s.kernel_height * s.dilation) * x_row + channels.begin * s.width * s.stride,
                           RowAhead<X>::vectors_for(s.stride)};
    RowAhead<Y> dy_ahead = {dy + (row + 1) * dy_row + channels.begin * s.out_width};
    each_vector(channels.begin, channels.end, [&](std::int64_t c, auto lanes) {
      depthwise_weight_taps(s, image + (top + taps.begin * s.dilation) * x_row + c, source.change(c, lanes),
                            dy + row * dy_row + c, taps.end - taps.begin, x_ahead, dy_ahead,
                            totals + taps.begin * s.kernel_width * s.channels + c, lanes);
    });
  }
}

// The gradient's sums (KH, KW, C). Threads share out the rows of dy in `parts`, each of which has sums of its own,
// `part_elements` apart; and channels, where there are fewer parts.
// with_source(part, channels, body) calls body with what a thread reads x from.
template <typename WithSource>
void sum_depthwise_weights(const ConvShape& s, const TensorView& x, const TensorView& dy, int parts,
                           std::int64_t part_elements, int threads, const WithSource& with_source,
                           float* sums) noexcept {
  const std::int64_t vectors = divide_up(s.channels, kLanes);
  const auto columns = static_cast<int>(smaller(threads / parts, vectors));
  parallel(parts * columns, [&](int thread, int) {
    const int part = thread % parts;
    const Range taken = part_of(vectors, thread / parts, columns);
    const Range channels = {taken.begin * kLanes, smaller(taken.end * kLanes, s.channels)};
    float* own = sums + part * part_elements;
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
      each_vector(channels.begin, channels.end,
                  [&](std::int64_t c, auto lanes) { store(own + tap * s.channels + c, zero(), lanes); });
    }
    with_element(x.dtype, [&](auto x_element) {
      with_element(dy.dtype, [&](auto y_element) {
        with_source(part, channels, [&](const auto& source) {
          depthwise_weight_totals(s, x.as<const decltype(x_element)>(), source, dy.as<const decltype(y_element)>(),
                                  part_of(s.batch * s.out_height, part, parts), channels, own);
        });
      });
    });
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA
