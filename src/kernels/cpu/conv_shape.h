// The numbers of a convolution as its three kernels see them, and how one axis of it is walked.
#pragma once

#include "kernels/cpu/support.h"

namespace thimble::kernels::THIMBLE_ISA {

struct ConvShape {
  std::int64_t batch = 0, height = 0, width = 0, channels = 0;   // x
  std::int64_t out_height = 0, out_width = 0, out_channels = 0;  // y
  std::int64_t kernel_height = 0, kernel_width = 0;              // w (KH, KW, C/groups, O)
  std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;

  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_outs() const { return out_channels / groups; }
  std::int64_t taps() const { return kernel_height * kernel_width; }
  bool is_depthwise() const { return groups > 1 && group_channels() == 1 && group_outs() == 1; }
};

inline ConvShape conv_shape(const Attributes& attributes, const Shape& x, const Shape& w, const Shape& y) {
  return {.batch = x[0],
          .height = x[1],
          .width = x[2],
          .channels = x[3],
          .out_height = y[1],
          .out_width = y[2],
          .out_channels = y[3],
          .kernel_height = w[0],
          .kernel_width = w[1],
          .stride = attributes.integer("stride"),
          .padding = attributes.integer("padding"),
          .dilation = attributes.integer("dilation"),
          .groups = attributes.integer("groups")};
}

// A product of matrices as a pointwise convolution over one row, whose pixels are the rows of x (samples, C) and of
// y (samples, O).
inline ConvShape row_shape(const Shape& x, const Shape& y) {
  return {.batch = 1,
          .height = 1,
          .width = x[0],
          .channels = x[1],
          .out_height = 1,
          .out_width = x[0],
          .out_channels = y[1],
          .kernel_height = 1,
          .kernel_width = 1};
}

// A convolution that reads each pixel by itself sees one long row in every image: no row ends in the middle of a tile.
// Where there are few images, rows are what threads share out.
constexpr std::int64_t kFewImages = 4;

inline ConvShape with_long_rows(ConvShape s) {
  const bool is_pointwise = s.taps() == 1 && s.stride == 1 && s.padding == 0;
  if (!is_pointwise || s.batch < kFewImages) return s;
  s.width = s.out_width = s.height * s.width;
  s.height = s.out_height = 1;
  return s;
}

constexpr std::int64_t divide_down(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return -divide_down(-a, b); }

// The i in [0, count) for which 0 <= first + i * step < size.
inline Range inside_steps(std::int64_t first, std::int64_t step, std::int64_t size, std::int64_t count) {
  const std::int64_t begin = smaller(count, larger(0, divide_up(-first, step)));
  return {begin, larger(begin, smaller(count, divide_up(size - first, step)))};
}

// The outputs of a forward axis whose tap at `offset` from the window's start lies inside the source.
inline Range inside_windows(const ConvShape& s, std::int64_t offset, std::int64_t source, std::int64_t outs) {
  return inside_steps(offset - s.padding, s.stride, source, outs);
}

// The taps that one class of outputs along an axis reads. Output position first_out + period * u reads, for tap i, the
// source position u * stride + first_source + i * source_step, weighted by kernel tap first_tap + i * tap_step.
struct AxisPhase {
  std::int64_t taps = 0, first_tap = 0, tap_step = 1;
  std::int64_t first_source = 0, source_step = 1;
  std::int64_t begin = 0, end = 0;  // of u
  std::int64_t first_out = 0;

  std::int64_t last_source() const { return first_source + (taps - 1) * source_step; }
};

// One axis of a gathering convolution: forward has one phase; the input gradient has one for each remainder modulo the
// stride, because outputs of equal remainder see the same taps, and each phase is then a plain convolution of stride 1.
struct Axis {
  std::int64_t source = 0, out = 0, kernel = 0, padding = 0, dilation = 1;
  std::int64_t stride = 1;          // of the source positions
  std::int64_t period = 1;          // of the output positions
  std::int64_t begin = 0, end = 0;  // of u, over all phases
  std::int64_t low = 0, high = 0;   // first and last source position that u = 0 reads, over all phases

  bool is_backward = false;
};

inline Axis forward_axis(const ConvShape& s, std::int64_t source, std::int64_t out, std::int64_t kernel) {
  return {.source = source,
          .out = out,
          .kernel = kernel,
          .padding = s.padding,
          .dilation = s.dilation,
          .stride = s.stride,
          .begin = 0,
          .end = out,
          .low = -s.padding,
          .high = (kernel - 1) * s.dilation - s.padding};
}

// Tap k of the convolution sends y[v] to x[v * stride - padding + k * dilation]. With x + padding = stride * u + phase,
// tap k counts if k * dilation leaves the remainder `phase`, and reads y[u - (k * dilation - phase) / stride]. Taps are
// taken last to first, so that the source is read upwards.
inline AxisPhase backward_phase(const Axis& a, std::int64_t phase) {
  AxisPhase p = {.begin = divide_up(a.padding - phase, a.period),
                 .end = divide_up(a.out + a.padding - phase, a.period),
                 .first_out = phase - a.padding};
  std::int64_t last = -1, before_last = -1;
  for (std::int64_t k = 0; k < a.kernel; ++k) {
    if (k * a.dilation % a.period != phase) continue;
    before_last = last;
    last = k;
    ++p.taps;
  }
  p.first_tap = last;
  p.tap_step = p.taps > 1 ? before_last - last : 1;
  p.first_source = p.taps > 0 ? -((last * a.dilation - phase) / a.period) : 0;
  p.source_step = p.taps > 1 ? (last - before_last) * a.dilation / a.period : 1;
  return p;
}

inline AxisPhase phase_of(const Axis& a, std::int64_t phase) {
  if (a.is_backward) return backward_phase(a, phase);
  return {.taps = a.kernel, .first_source = -a.padding, .source_step = a.dilation, .begin = 0, .end = a.out};
}

// From y (the source) back to x (the output).
inline Axis backward_axis(const ConvShape& s, std::int64_t source, std::int64_t out, std::int64_t kernel) {
  Axis a = {.source = source,
            .out = out,
            .kernel = kernel,
            .padding = s.padding,
            .dilation = s.dilation,
            .period = s.stride,
            .is_backward = true};
  bool is_first = true, is_first_tap = true;
  for (std::int64_t phase = 0; phase < a.period; ++phase) {
    const AxisPhase p = backward_phase(a, phase);
    if (p.begin >= p.end) continue;
    a.begin = is_first ? p.begin : smaller(a.begin, p.begin);
    a.end = is_first ? p.end : larger(a.end, p.end);
    is_first = false;
    if (p.taps == 0) continue;
    a.low = is_first_tap ? p.first_source : smaller(a.low, p.first_source);
    a.high = is_first_tap ? p.last_source() : larger(a.high, p.last_source());
    is_first_tap = false;
  }
  return a;
}

// Outputs at the ends of an axis of which one tap lies outside the source.
struct AxisBorder {
  bool first = false, last = false;  // the first output's first tap, the last output's last tap
  bool is_narrow = true;             // no other tap of any output lies outside
};

inline AxisBorder border_of(const Axis& a, const AxisPhase& p) {
  const std::int64_t first = p.begin * a.stride + p.first_source, last = (p.end - 1) * a.stride + p.last_source();
  AxisBorder border = {.first = first < 0, .last = last >= a.source};
  if (p.taps == 0 || p.begin >= p.end) return {};
  if (p.taps == 1) return {.is_narrow = !border.first && !border.last};
  // One step further inside, along the taps or along the outputs, everything must be inside.
  const std::int64_t step = p.end - p.begin > 1 ? smaller(p.source_step, a.stride) : p.source_step;
  border.is_narrow = first + step >= 0 && last - step < a.source;
  return border;
}

// Every output sees the source alone, but for a narrow border.
inline bool has_narrow_borders(const Axis& a) {
  for (std::int64_t phase = 0; phase < a.period; ++phase) {
    if (!border_of(a, phase_of(a, phase)).is_narrow) return false;
  }
  return true;
}

// Threads as a grid over two kinds of units, rows x columns; the fewest units for the busiest thread, rows preferred.
struct ThreadGrid {
  int rows = 1, columns = 1;
};

inline ThreadGrid choose_grid(std::int64_t row_units, std::int64_t column_units, int threads) {
  ThreadGrid best;
  std::int64_t best_cost = row_units * column_units;
  for (int columns = 1; columns <= threads; ++columns) {
    const int rows = threads / columns;
    const std::int64_t cost = divide_up(row_units, rows) * divide_up(column_units, columns);
    if (cost >= best_cost) continue;
    best_cost = cost;
    best = {rows, columns};
  }
  return best;
}

}  // namespace thimble::kernels::THIMBLE_ISA
