// Depthwise convolution, one channel a group: nothing to reduce over channels, so vectors run along them and every tap
// is one multiply-add. Both gathering directions walk the axes of conv_shape.h; a row of outputs is made one vector of
// channels after the other, the weights of the vector in registers.
#pragma once

#include "kernels/cpu/activation.h"
#include "kernels/cpu/conv_moments.h"
#include "kernels/cpu/conv_shape.h"
#include "kernels/cpu/stream.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr int kUsualTaps = 3;  // along an axis: others take a slower way

// What a row of outputs of one phase of the columns reads, from the first tap inside the source: `x` as the output at
// u = 0 sees it.
template <typename X, typename W>
struct DepthwiseTaps {
  const X* x = nullptr;
  const W* w = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t x_row = 0, x_column = 0;  // from one tap to the next
  std::int64_t w_row = 0, w_column = 0;
  std::int64_t x_next = 0;  // from one output to the next
};

// The sum of some taps of a row of taps and of all rows.
template <typename X, typename W, typename Lanes>
THIMBLE_INLINE Vec depthwise_sum(const DepthwiseTaps<X, W>& t, const X* x, const W* w, Range columns, Lanes lanes) {
  Vec sum = zero();
  for (std::int64_t i = 0; i < t.rows; ++i) {
    for (std::int64_t j = columns.begin; j < columns.end; ++j) {
      sum = fma(load(x + i * t.x_row + j * t.x_column, lanes), load(w + i * t.w_row + j * t.w_column, lanes), sum);
    }
  }
  return sum;
}

// Outputs [u.begin, u.end), all of whose taps are inside: end(u, sum) takes each.
template <typename X, typename W, typename Lanes, typename End>
THIMBLE_INLINE void depthwise_inside(const DepthwiseTaps<X, W>& t, const X* x, const W* w, Range u, Lanes lanes,
                                     End&& end) {
  x += u.begin * t.x_next;
  if (t.rows != kUsualTaps || t.columns != kUsualTaps) {
    for (std::int64_t k = u.begin; k < u.end; ++k, x += t.x_next) end(k, depthwise_sum(t, x, w, {0, t.columns}, lanes));
    return;
  }
  Vec weights[kUsualTaps][kUsualTaps];
#pragma GCC unroll 4
  for (int i = 0; i < kUsualTaps; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kUsualTaps; ++j) weights[i][j] = load(w + i * t.w_row + j * t.w_column, lanes);
  }
  for (std::int64_t k = u.begin; k < u.end; ++k, x += t.x_next) {
    Vec sum = zero();
    const X* row = x;
#pragma GCC unroll 4
    for (int i = 0; i < kUsualTaps; ++i, row += t.x_row) {
#pragma GCC unroll 4
      for (int j = 0; j < kUsualTaps; ++j) sum = fma(load(row + j * t.x_column, lanes), weights[i][j], sum);
    }
    __builtin_prefetch(row);  // the row below, which the next outputs want
    end(k, sum);
  }
}

struct DepthwiseGather {
  Axis rows, columns;
  std::int64_t channels = 0;

  // Makes output row `row`, counted over all images: open(channel, lanes) gives what takes the sums of a vector of
  // channels, take(place, sum) for each, where `place` is the sum's first element, and close() in the end.
  template <typename X, typename W, typename Open>
  void run(const X* x, const W* w, std::int64_t row, Open&& open) const {
    const std::int64_t h = row % rows.out;
    const AxisPhase phase = phase_of(rows, (h + rows.padding) % rows.period);
    const std::int64_t u = (h - phase.first_out) / rows.period;
    const std::int64_t first = u * rows.stride + phase.first_source;
    const Range inside = inside_steps(first, phase.source_step, rows.source, phase.taps);
    DepthwiseTaps<X, W> taps;
    taps.rows = inside.end - inside.begin;
    taps.x_row = phase.source_step * columns.source * channels;
    taps.w_row = phase.tap_step * columns.kernel * channels;
    taps.x = x + (row / rows.out * rows.source + first) * columns.source * channels + inside.begin * taps.x_row;
    taps.w = w + phase.first_tap * columns.kernel * channels + inside.begin * taps.w_row;
    for (std::int64_t p = 0; p < columns.period; ++p)
      run_phase(taps, phase_of(columns, p), row * columns.out * channels, open);
  }

 private:
  template <typename X, typename W, typename Open>
  void run_phase(DepthwiseTaps<X, W> t, const AxisPhase& phase, std::int64_t row_place, Open&& open) const {
    t.columns = phase.taps;
    t.x_column = phase.source_step * channels;
    t.w_column = phase.tap_step * channels;
    t.x_next = columns.stride * channels;
    t.x += phase.first_source * channels;
    t.w += phase.first_tap * channels;
    const std::int64_t least = divide_up(-phase.first_source, columns.stride);
    const std::int64_t most = divide_down(columns.source - 1 - phase.last_source(), columns.stride) + 1;
    const std::int64_t begin = smaller(phase.end, larger(phase.begin, least));
    const Range whole = {begin, larger(begin, smaller(phase.end, most))};
    each_vector(0, channels, [&](std::int64_t c, auto lanes) {
      const X* x = t.x + c;
      const W* w = t.w + c;
      auto results = open(c, lanes);
      const auto place = [&](std::int64_t u) {
        return row_place + (phase.first_out + columns.period * u) * channels + c;
      };
      const auto at_border = [&](std::int64_t u) {
        const Range taps =
            inside_steps(u * columns.stride + phase.first_source, phase.source_step, columns.source, phase.taps);
        results.take(place(u), depthwise_sum(t, x + u * t.x_next, w, taps, lanes));
      };
      for (std::int64_t u = phase.begin; u < whole.begin; ++u) at_border(u);
      depthwise_inside(t, x, w, whole, lanes, [&](std::int64_t u, Vec sum) { results.take(place(u), sum); });
      for (std::int64_t u = whole.end; u < phase.end; ++u) at_border(u);
      results.close();
    });
  }
};

// Takes the sums of one vector of channels in a row. end(element, place, channel, lanes, sum) makes a result of each.
template <bool kWatches, typename T, typename Lanes, typename End>
struct DepthwiseResults {
  T* out;
  bool streams;
  std::int64_t channel;
  Lanes lanes;
  const End& end;
  const PieceMoments& moments;  // of what is stored, if it is watched
  VectorMoments<Lanes> own = {channel, lanes};

  [[gnu::always_inline]] void take(std::int64_t place, Vec sum) {
    const Vec result = end(T{}, place, channel, lanes, sum);
    store_result(out + place, result, lanes, streams);
    if constexpr (kWatches) {
      constexpr std::int64_t kMost = 64;  // rows may be long, and f32 sums of so many stay precise
      if (own.count == kMost) {
        own.close(moments);
        own = {channel, lanes};
      }
      own.take(moments, result, out + place);
    }
  }
  [[gnu::always_inline]] void close() const {
    if constexpr (kWatches) own.close(moments);
  }
};

// Gathers the rows of the result that fall to a thread.
template <bool kWatches, typename X, typename W, typename End>
void run_depthwise_rows(const DepthwiseGather& gather, const Call& call, Shares& shares, int thread,
                        const PieceMoments& moments, const End& end) noexcept {
  X* out = call.out[0].as<X>();
  const bool lies_over = call.in.size() == 3 && call.in[2].data == call.out[0].data;
  const bool streams = !lies_over && is_streamed(out, call.out[0].shape.count(), gather.channels);
  shares.take(thread, [&](Range rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      gather.run(call.in[0].as<const X>(), call.in[1].as<const W>(), row, [&](std::int64_t channel, auto lanes) {
        return DepthwiseResults<kWatches, X, decltype(lanes), End>{out, streams, channel, lanes, end, moments};
      });
    }
  });
  if (streams) end_streams();
}

// `moments` of the result, or none.
template <bool kMayWatch, typename End>
void run_depthwise(const DepthwiseGather& gather, std::int64_t batch, const Call& call, const OutMoments& moments,
                   const End& end) noexcept {
  const ThreadMoments all = {moments, reinterpret_cast<float*>(call.workspace), moments.elements(), call.threads};
  all.clear();
  Shares shares(batch * gather.rows.out, call.threads, 1, moments.exists());
  parallel(call.threads, [&](int thread, int) {
    const PieceMoments own = all.of(thread);
    with_element(call.in[0].dtype, [&](auto x) {
      with_element(call.in[1].dtype, [&](auto w) {
        using X = decltype(x);
        using W = decltype(w);
        if constexpr (kMayWatch) {
          if (moments.exists()) return run_depthwise_rows<true, X, W>(gather, call, shares, thread, own, end);
        }
        run_depthwise_rows<false, X, W>(gather, call, shares, thread, own, end);
      });
    });
  });
  all.store_to(call.out);
}

inline void depthwise_forward(const ConvShape& s, Activation activation, const OutMoments& moments,
                              const Call& call) noexcept {
  const TensorView* bias = call.in.size() == 3 ? &call.in[2] : nullptr;
  const DepthwiseGather gather = {forward_axis(s, s.height, s.out_height, s.kernel_height),
                                  forward_axis(s, s.width, s.out_width, s.kernel_width), s.channels};
  run_depthwise<true>(
      gather, s.batch, call, moments, [&](auto, std::int64_t, std::int64_t channel, auto lanes, Vec sum) {
        if (bias != nullptr) {
          with_element(bias->dtype,
                       [&](auto e) { sum = add(sum, load(bias->as<const decltype(e)>() + channel, lanes)); });
        }
        return activate(activation, sum);
      });
}

inline void depthwise_grad_input(const ConvShape& s, const Call& call) noexcept {
  const TensorView* addend = call.in.size() == 3 ? &call.in[2] : nullptr;
  const DepthwiseGather gather = {backward_axis(s, s.out_height, s.height, s.kernel_height),
                                  backward_axis(s, s.out_width, s.width, s.kernel_width), s.channels};
  run_depthwise<false>(gather, s.batch, call, {}, [&](auto y, std::int64_t place, std::int64_t, auto lanes, Vec sum) {
    return addend == nullptr ? sum : add(load(addend->as<const decltype(y)>() + place, lanes), sum);
  });
}

// Sums over one row of dy of the weight gradient of kTaps neighbouring taps, for one vector of channels. Few sums would
// wait for themselves: several take turns.
template <int kTaps, typename X, typename Y, typename Lanes>
THIMBLE_INLINE void depthwise_weight_row(const ConvShape& s, const X* x, const Y* dy, std::int64_t first_tap,
                                         float* totals, Lanes lanes) {
  constexpr int kTurns = kTaps == 1 ? 4 : 2;
  Vec sums[kTurns][kTaps];
  Range seen[kTaps], whole = {0, s.out_width};
  for (int j = 0; j < kTaps; ++j) {
    seen[j] = inside_windows(s, (first_tap + j) * s.dilation, s.width, s.out_width);
    whole = {larger(whole.begin, seen[j].begin), smaller(whole.end, seen[j].end)};
    for (int turn = 0; turn < kTurns; ++turn) sums[turn][j] = zero();
  }
  whole.end = larger(whole.begin, whole.end);
  const std::int64_t step = s.stride * s.channels, tap_step = s.dilation * s.channels;
  x += (first_tap * s.dilation - s.padding) * s.channels;
  const auto add_tap = [&](int j, std::int64_t column) {
    sums[0][j] = fma(load(x + column * step + j * tap_step, lanes), load(dy + column * s.channels, lanes), sums[0][j]);
  };
  for (int j = 0; j < kTaps; ++j) {
    for (std::int64_t column = seen[j].begin; column < smaller(seen[j].end, whole.begin); ++column) add_tap(j, column);
    for (std::int64_t column = larger(seen[j].begin, whole.end); column < seen[j].end; ++column) add_tap(j, column);
  }
  const X* x_at = x + whole.begin * step;
  const Y* y_at = dy + whole.begin * s.channels;
  std::int64_t left = whole.end - whole.begin;
  for (; left >= kTurns; left -= kTurns) {
#pragma GCC unroll 4
    for (int turn = 0; turn < kTurns; ++turn, x_at += step, y_at += s.channels) {
      const Vec y = load(y_at, lanes);
#pragma GCC unroll 4
      for (int j = 0; j < kTaps; ++j) sums[turn][j] = fma(load(x_at + j * tap_step, lanes), y, sums[turn][j]);
    }
  }
  for (std::int64_t column = whole.end - left; column < whole.end; ++column) {
    for (int j = 0; j < kTaps; ++j) add_tap(j, column);
  }
#pragma GCC unroll 4
  for (int j = 0; j < kTaps; ++j) {
    Vec sum = add(sums[0][j], sums[1][j]);
    if constexpr (kTurns == 4) sum = add(sum, add(sums[2][j], sums[3][j]));
    float* total = totals + j * s.channels;
    store(total, add(load(total, lanes), sum), lanes);
  }
}

// All taps of one row of the kernel for one row of dy.
template <typename X, typename Y, typename Lanes>
THIMBLE_INLINE void depthwise_weight_taps(const ConvShape& s, const X* x, const Y* dy, float* totals, Lanes lanes) {
  if (s.kernel_width == kUsualTaps) return depthwise_weight_row<kUsualTaps>(s, x, dy, 0, totals, lanes);
  for (std::int64_t j = 0; j < s.kernel_width; ++j)
    depthwise_weight_row<1>(s, x, dy, j, totals + j * s.channels, lanes);
}

// What rows of dy, all of them in order, add to the totals (KH, KW, C) of some channels and rows of the kernel.
template <typename X, typename Y>
void depthwise_weight_totals(const ConvShape& s, const X* x, const Y* dy, Range channels, Range taps,
                             float* totals) noexcept {
  for (std::int64_t row = 0; row < s.batch * s.out_height; ++row) {
    const std::int64_t top = row % s.out_height * s.stride - s.padding;
    const Y* y_row = dy + row * s.out_width * s.channels;
    for (std::int64_t i = taps.begin; i < taps.end; ++i) {
      const std::int64_t h = top + i * s.dilation;
      if (h < 0 || h >= s.height) continue;
      const X* x_row = x + (row / s.out_height * s.height + h) * s.width * s.channels;
      each_vector(channels.begin, channels.end, [&](std::int64_t c, auto lanes) {
        depthwise_weight_taps(s, x_row + c, y_row + c, totals + i * s.kernel_width * s.channels + c, lanes);
      });
    }
  }
}

inline Bytes depthwise_weight_workspace(const ConvShape& s) { return s.taps() * s.channels * 4; }

// Calls write(place, sum, lanes) for every vector of the gradient. Threads share out channels and rows of the kernel.
template <typename Write>
void depthwise_grad_weight(const ConvShape& s, const TensorView& x, const TensorView& dy, int threads, float* totals,
                           Write&& write) noexcept {
  const std::int64_t vectors = divide_up(s.channels, kLanes);
  const ThreadGrid grid = choose_grid(vectors, s.kernel_height, threads);
  parallel(grid.rows * grid.columns, [&](int thread, int) {
    const Range part = part_of(vectors, thread / grid.columns, grid.rows);
    const Range channels = {part.begin * kLanes, smaller(part.end * kLanes, s.channels)};
    const Range taps = part_of(s.kernel_height, thread % grid.columns, grid.columns);
    for (std::int64_t tap = taps.begin * s.kernel_width; tap < taps.end * s.kernel_width; ++tap)
      each_vector(channels.begin, channels.end,
                  [&](std::int64_t c, auto lanes) { store(totals + tap * s.channels + c, zero(), lanes); });
    with_element(x.dtype, [&](auto x_element) {
      with_element(dy.dtype, [&](auto y_element) {
        depthwise_weight_totals(s, x.as<const decltype(x_element)>(), dy.as<const decltype(y_element)>(), channels,
                                taps, totals);
      });
    });
    for (std::int64_t tap = taps.begin * s.kernel_width; tap < taps.end * s.kernel_width; ++tap) {
      each_vector(channels.begin, channels.end, [&](std::int64_t c, auto lanes) {
        const std::int64_t place = tap * s.channels + c;
        write(place, load(totals + place, lanes), lanes.count);
      });
    }
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA
