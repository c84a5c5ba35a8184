// Depthwise convolution, one channel a group: nothing to reduce over channels, so vectors run along them and every tap
// is one multiply-add. Both gathering directions walk the axes of conv_shape.h; a row of outputs is made one vector of
// channels after the other, the weights of the vector in registers.
#pragma once

#include "kernels/cpu/conv_buffer.h"
#include "kernels/cpu/conv_shape.h"
#include "kernels/cpu/stream.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr int kUsualTaps = 3;  // along an axis: more take a slower way

// Single channels make no pairs: where products are of pairs, results that are rounded at once are all that is left.
template <typename X>
inline constexpr bool kReadsDepthwise = !kHasPairs || (kRoundsAtOnce && std::is_same_v<X, BFloat16>);

// What the next row reads and this one does not, and where its results go, fetched in the order in which it lies in
// memory: places of one vector of channels lie too far apart for hardware to foresee them.
template <typename T>
struct RowAhead {
  const T* next = nullptr;
  std::int64_t vectors = 1;      // to fetch at a step,
  std::int64_t length = kLanes;  // of as many elements each
  const T* result = nullptr;     // null: results are not fetched

  // Longer strides leave out most of what lies there.
  static std::int64_t vectors_for(std::int64_t stride) { return stride <= 2 ? stride * stride : 0; }

  [[gnu::always_inline]] void step() {
    for (std::int64_t k = 0; k < vectors; ++k, next += length) __builtin_prefetch(next);
    if (result == nullptr) return;
    __builtin_prefetch(result, 1);
    result += kLanes;
  }
};

// What a row of outputs of one phase of the columns reads, from the first tap inside the source: `x` as the output at
// u = 0 sees it.
template <typename X>
struct DepthwiseTaps {
  const X* x = nullptr;
  const float* w = nullptr;
  std::int64_t rows = 0, columns = 0;
  std::int64_t x_row = 0, x_column = 0;  // from one tap to the next
  std::int64_t w_row = 0, w_column = 0;
  std::int64_t x_next = 0;  // from one output to the next
};

// The same for one vector of channels: what is read is normalised first, or left as it is.
template <typename X, typename Change>
struct VectorTaps : DepthwiseTaps<X> {
  Change change;

  template <typename Lanes>
  [[gnu::always_inline]] Vec read(const X* place, Lanes lanes) const {
    return change(load(place, lanes));
  }
};

// The sum of some taps of a row of taps and of all rows.
template <typename X, typename Change, typename Lanes>
THIMBLE_INLINE Vec depthwise_sum(const VectorTaps<X, Change>& t, const X* x, const float* w, Range columns,
                                 Lanes lanes) {
  Vec sum = zero();
  for (std::int64_t i = 0; i < t.rows; ++i) {
    for (std::int64_t j = columns.begin; j < columns.end; ++j) {
      sum = fma(t.read(x + i * t.x_row + j * t.x_column, lanes), load(w + i * t.w_row + j * t.w_column, lanes), sum);
    }
  }
  return sum;
}

// The outputs of a row that belong to one phase of the columns, and those of them whose windows lie inside.
struct DepthwiseRow {
  Range all, inside;
  std::int64_t stride = 1, first_source = 0, source_step = 1, source = 0;

  // Of the source, as tap j of output u reads it.
  bool reads(std::int64_t u, std::int64_t j) const {
    const std::int64_t position = u * stride + first_source + j * source_step;
    return position >= 0 && position < source;
  }
};

// Windows that overlap share what they read: each output loads one column more and keeps the last two, where registers
// have room for them. Three outputs at a time, so that nothing moves from one register to another; what is left of them
// begins at the place that is returned.
constexpr bool kSlides = kIsa != Isa::avx2;

template <int kRows, typename X, typename Change, typename Lanes, typename Results>
THIMBLE_INLINE std::int64_t slide_windows(const DepthwiseTaps<X>& t, const Change& change, const X* x,
                                          const Vec (&weights)[kRows][kUsualTaps], Range u, Lanes lanes,
                                          RowAhead<X>& ahead, Results& results) {
  Vec seen[kUsualTaps][kRows];
  const auto read = [&](Vec(&column)[kRows], const X* from) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i, from += t.x_row) column[i] = change(load(from, lanes));
  };
  const X* from = x + u.begin * t.x_next;
  std::int64_t place = u.begin;
  if (place + kUsualTaps > u.end) return place;
  for (int j = 0; j + 1 < kUsualTaps; ++j, from += t.x_column) read(seen[j], from);
  for (; place + kUsualTaps <= u.end; place += kUsualTaps) {
#pragma GCC unroll 4
    for (int k = 0; k < kUsualTaps; ++k, from += t.x_column) {
      read(seen[(k + kUsualTaps - 1) % kUsualTaps], from);
      Vec sum = zero();
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
        for (int j = 0; j < kUsualTaps; ++j) sum = fma(seen[(k + j) % kUsualTaps][i], weights[i][j], sum);
      }
      ahead.step();
      results.take(place + k, sum);
    }
  }
  return place;
}

// All outputs of a row, of windows that are kRows x kColumns large: results.take(u, sum) has each.
template <int kRows, int kColumns, typename X, typename Change, typename Lanes, typename Results>
THIMBLE_INLINE void depthwise_windows(const VectorTaps<X, Change>& t, const DepthwiseRow& row, const X* x,
                                      const float* w, Lanes lanes, RowAhead<X>& ahead, Results& results) {
  RowAhead<X> fetched = ahead;  // copies, which stay in registers
  Results own = results;
  const Change change = t.change;
  Vec weights[kRows][kColumns];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) weights[i][j] = load(w + i * t.w_row + j * t.w_column, lanes);
  }
  const auto take = [&](std::int64_t u, const bool* reads) __attribute__((always_inline)) {
    Vec sum = zero();
    const X* from = x + u * t.x_next;
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i, from += t.x_row) {
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        if (reads == nullptr || reads[j]) sum = fma(change(load(from + j * t.x_column, lanes)), weights[i][j], sum);
      }
    }
    fetched.step();
    own.take(u, sum);
  };
  const auto take_border = [&](std::int64_t u) __attribute__((always_inline)) {
    bool reads[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) reads[j] = row.reads(u, j);
    take(u, reads);
  };
  for (std::int64_t u = row.all.begin; u < row.inside.begin; ++u) take_border(u);
  std::int64_t inner = row.inside.begin;
  if constexpr (kColumns == kUsualTaps && kSlides) {
    if (t.x_next == t.x_column) inner = slide_windows<kRows>(t, change, x, weights, row.inside, lanes, fetched, own);
  }
  for (std::int64_t u = inner; u < row.inside.end; ++u) take(u, nullptr);
  for (std::int64_t u = row.inside.end; u < row.all.end; ++u) take_border(u);
  ahead = fetched;
  results = own;
}

// The same for windows of any size: those of 3 x 3 taps have 2 x 3 at the upper and lower border, and their gradients
// less where they jump.
template <typename X, typename Change, typename Lanes, typename Results>
THIMBLE_INLINE void depthwise_row(const VectorTaps<X, Change>& t, const DepthwiseRow& row, const X* x, const float* w,
                                  Lanes lanes, RowAhead<X>& ahead, Results& results) {
  constexpr int kNone = -1;
  switch (t.columns <= kUsualTaps ? t.rows * 4 + t.columns : kNone) {
    case 3 * 4 + 3: return depthwise_windows<3, 3>(t, row, x, w, lanes, ahead, results);
    case 2 * 4 + 3: return depthwise_windows<2, 3>(t, row, x, w, lanes, ahead, results);
    case 2 * 4 + 2: return depthwise_windows<2, 2>(t, row, x, w, lanes, ahead, results);
    case 2 * 4 + 1: return depthwise_windows<2, 1>(t, row, x, w, lanes, ahead, results);
    case 1 * 4 + 2: return depthwise_windows<1, 2>(t, row, x, w, lanes, ahead, results);
    case 1 * 4 + 1: return depthwise_windows<1, 1>(t, row, x, w, lanes, ahead, results);
    default:
      const auto take_border = [&](std::int64_t u) {
        const Range taps = inside_steps(u * row.stride + row.first_source, row.source_step, row.source, t.columns);
        results.take(u, depthwise_sum(t, x + u * t.x_next, w, taps, lanes));
        ahead.step();
      };
      for (std::int64_t u = row.all.begin; u < row.inside.begin; ++u) take_border(u);
      for (std::int64_t u = row.inside.begin; u < row.inside.end; ++u)
        results.take(u, depthwise_sum(t, x + u * t.x_next, w, {0, t.columns}, lanes));
      for (std::int64_t u = row.inside.end; u < row.all.end; ++u) take_border(u);
  }
}

// A source without a norm; see NormedSource.
struct PlainSource {
  void enter(std::int64_t) const {}
  template <typename Lanes>
  NoNorm change(std::int64_t, Lanes) const {
    return {};
  }
};

// A source that is normalised as it is read, by a thread's own coefficients.
struct NormedSource {
  BandNorm& norm;
  Range channels;  // that are read

  void enter(std::int64_t image) const { norm.enter(image, channels); }
  template <typename Lanes>
  LimitedNorm change(std::int64_t channel, Lanes lanes) const {
    return norm.limited(channel, lanes);
  }
};

struct DepthwiseGather {
  Axis rows, columns;
  std::int64_t channels = 0;

  // Makes output row `row`, counted over all images: open(channel, first, step, lanes) gives what takes the sums of a
  // vector of channels, take(u, sum) for each, whose result stands at first + u * step, and close() in the end. `next`
  // is where the results of the next row go, if they are fetched.
  template <typename X, typename Source, typename Open>
  void run(const X* x, const Source& source, const float* w, std::int64_t row, const X* next, Open&& open) const {
    source.enter(row / rows.out);
    const std::int64_t h = row % rows.out;
    const std::int64_t remainder = (h + rows.padding) % rows.period;
    const AxisPhase phase = phase_of(rows, remainder);
    const std::int64_t u = (h - phase.first_out) / rows.period;
    const std::int64_t first = u * rows.stride + phase.first_source;
    const Range inside = inside_steps(first, phase.source_step, rows.source, phase.taps);
    DepthwiseTaps<X> taps;
    taps.rows = inside.end - inside.begin;
    taps.x_row = phase.source_step * columns.source * channels;
    taps.w_row = phase.tap_step * columns.kernel * channels;
    taps.x = x + (row / rows.out * rows.source + first) * columns.source * channels + inside.begin * taps.x_row;
    taps.w = w + phase.first_tap * columns.kernel * channels + inside.begin * taps.w_row;
    const std::int64_t source_row = columns.source * channels;
    RowAhead<X> ahead = {x + (row / rows.out * rows.source + u * rows.stride + rows.high + 1) * source_row +
                             remainder * source_row / rows.period,
                         RowAhead<X>::vectors_for(rows.stride), kLanes / (rows.period * columns.period), next};
    for (std::int64_t p = 0; p < columns.period; ++p)
      run_phase(taps, source, phase_of(columns, p), row * columns.out * channels, ahead, open);
  }

 private:
  template <typename X, typename Source, typename Open>
  void run_phase(DepthwiseTaps<X> t, const Source& source, const AxisPhase& phase, std::int64_t row_place,
                 RowAhead<X>& ahead, Open&& open) const {
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
    const DepthwiseRow outputs = {{phase.begin, phase.end}, whole,         columns.stride, phase.first_source,
                                  phase.source_step,        columns.source};
    each_vector(0, channels, [&](std::int64_t c, auto lanes) {
      auto results = open(c, row_place + phase.first_out * channels + c, columns.period * channels, lanes);
      const VectorTaps<X, decltype(source.change(c, lanes))> taps = {t, source.change(c, lanes)};
      depthwise_row(taps, outputs, t.x + c, t.w + c, lanes, ahead, results);
      results.close();
    });
  }
};

// Takes the sums of one vector of channels in a row. end(element, place, channel, lanes, sum) makes a result of each.
template <bool kWatches, typename T, typename Lanes, typename End>
struct DepthwiseResults {
  T* out;
  bool streams;
  std::int64_t channel, first, step;  // the result of u stands at first + u * step
  Lanes lanes;
  const End* end;
  const PieceMoments* moments;  // of what is stored, if it is watched
  VectorMoments<Lanes> own = {channel, lanes};

  [[gnu::always_inline]] void take(std::int64_t u, Vec sum) {
    const std::int64_t place = first + u * step;
    const Vec result = (*end)(T{}, place, channel, lanes, sum);
    store_result(out + place, result, lanes, streams);
    if constexpr (kWatches) {
      constexpr std::int64_t kMost = 64;  // rows may be long, and f32 sums of so many stay precise
      if (own.count == kMost) {
        own.close(*moments);
        own = {channel, lanes};
      }
      own.take(*moments, result, out + place);
    }
  }
  [[gnu::always_inline]] void close() const {
    if constexpr (kWatches) own.close(*moments);
  }
};

// Gathers the rows of the result that fall to a thread.
template <bool kWatches, typename X, typename Source, typename End>
void run_depthwise_rows(const DepthwiseGather& gather, const Call& call, const float* weights, const Source& source,
                        Shares& shares, int thread, const PieceMoments& moments, const End& end) noexcept {
  X* out = call.out[0].as<X>();
  const bool lies_over = call.in.size() == 3 && call.in[2].data == call.out[0].data;
  const bool streams = !lies_over && is_streamed(out, call.out[0].shape.count(), gather.channels);
  shares.take(thread, [&](Range rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const X* next = streams ? nullptr : out + (row + 1) * gather.columns.out * gather.channels;
      gather.run(call.in[0].as<const X>(), source, weights, row, next,
                 [&](std::int64_t channel, std::int64_t first, std::int64_t step, auto lanes) {
                   return DepthwiseResults<kWatches, X, decltype(lanes), End>{out,  streams, channel, first,
                                                                              step, lanes,   &end,    &moments};
                 });
    }
  });
  if (streams) end_streams();
}

// Weights are few: as f32 they take little room, and the large loops are compiled for one type of them.
inline std::int64_t widened_elements(const Type& weights) {
  return weights.dtype == DType::f32 ? 0 : round_up(weights.shape.count(), 16);
}

inline const float* widened_weights(const TensorView& weights, float* room) noexcept {
  if (weights.dtype == DType::f32) return weights.as<const float>();
  const auto* from = weights.as<const BFloat16>();
  each_vector(0, weights.shape.count(),
              [&](std::int64_t i, auto lanes) { store(room + i, load(from + i, lanes), lanes); });
  return room;
}

// `all` are the moments of the result, or none; with_source(thread, body) calls body with what a thread reads from.
template <bool kMayWatch, typename WithSource, typename End>
void run_depthwise(const DepthwiseGather& gather, std::int64_t batch, const Call& call, const float* weights,
                   const ThreadMoments& all, const WithSource& with_source, const End& end) noexcept {
  all.clear();
  Shares shares(batch * gather.rows.out, call.threads, 1, all.what.exists());
  parallel(call.threads, [&](int thread, int) {
    const PieceMoments own = all.of(thread);
    with_element(call.in[0].dtype, [&](auto x) {
      using X = decltype(x);
      with_source(thread, [&](const auto& source) {
        if constexpr (kReadsDepthwise<X>) {
          if constexpr (kMayWatch) {
            if (all.what.exists())
              return run_depthwise_rows<true, X>(gather, call, weights, source, shares, thread, own, end);
          }
          run_depthwise_rows<false, X>(gather, call, weights, source, shares, thread, own, end);
        }
      });
    });
  });
  all.store_to(call.out);
}

// Nothing is copied. Behind the buffers of all threads lie widened weights.
struct DepthwiseForward {
  ConvShape shape;
  Activation activation = Activation::none;
  SourceNorm norm;
  OutMoments moments;

  GatherBuffer buffer() const { return {0, norm, moments}; }
  Bytes workspace(const Type& weights, int threads) const {
    return (threads * buffer().elements() + widened_elements(weights)) * 4;
  }

  // `operands` are those of the norm.
  template <bool kNormalizes>
  void run(const Call& call, std::span<const TensorView> operands) const noexcept {
    const TensorView* bias = call.in.size() == 3 ? &call.in[2] : nullptr;
    const DepthwiseGather gather = {forward_axis(shape, shape.height, shape.out_height, shape.kernel_height),
                                    forward_axis(shape, shape.width, shape.out_width, shape.kernel_width),
                                    shape.channels};
    auto* buffers = reinterpret_cast<float*>(call.workspace);
    const GatherBuffer own = buffer();
    const ThreadMoments all = own.all_moments(buffers, call.threads);
    const auto with_source = [&](int thread, auto&& body) {
      if constexpr (kNormalizes) {
        BandNorm coefficients = own.norm_in(buffers + thread * own.elements(), operands);
        body(NormedSource{coefficients, {0, shape.channels}});
      } else {
        body(PlainSource{});
      }
    };
    const float* weights = widened_weights(call.in[1], buffers + call.threads * own.elements());
    run_depthwise<true>(gather, shape.batch, call, weights, all, with_source,
                        [&](auto, std::int64_t, std::int64_t channel, auto lanes, Vec sum) {
                          if (bias != nullptr) {
                            with_element(bias->dtype, [&](auto e) {
                              sum = add(sum, load(bias->as<const decltype(e)>() + channel, lanes));
                            });
                          }
                          return activate(activation, sum);
                        });
  }
};

inline void depthwise_grad_input(const ConvShape& s, const Call& call) noexcept {
  const TensorView* addend = call.in.size() == 3 ? &call.in[2] : nullptr;
  const DepthwiseGather gather = {backward_axis(s, s.out_height, s.height, s.kernel_height),
                                  backward_axis(s, s.out_width, s.width, s.kernel_width), s.channels};
  const float* weights = widened_weights(call.in[1], reinterpret_cast<float*>(call.workspace));
  run_depthwise<false>(
      gather, s.batch, call, weights, {}, [](int, auto&& body) { body(PlainSource{}); },
      [&](auto y, std::int64_t place, std::int64_t, auto lanes, Vec sum) {
        return addend == nullptr ? sum : add(load(addend->as<const decltype(y)>() + place, lanes), sum);
      });
}

}  // namespace thimble::kernels::THIMBLE_ISA
