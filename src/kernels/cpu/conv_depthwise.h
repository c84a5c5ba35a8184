// Depthwise convolution, one channel a group: nothing to reduce over channels, so vectors run along them and every tap
// is one multiply-add.
#pragma once

#include "kernels/cpu/activation.h"
#include "kernels/cpu/conv_shape.h"

namespace thimble::kernels::THIMBLE_ISA {

// One vector of channels of one output of the forward direction.
template <typename X, typename W, typename Lanes>
THIMBLE_INLINE Vec depthwise_sum(const ConvShape& s, const X* image, const W* w, std::int64_t row, std::int64_t column,
                                 Lanes lanes) {
  const std::int64_t h = row * s.stride - s.padding, v = column * s.stride - s.padding;
  const Range rows = inside_steps(h, s.dilation, s.height, s.kernel_height);
  const Range columns = inside_steps(v, s.dilation, s.width, s.kernel_width);
  Vec sum = zero();
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    for (std::int64_t j = columns.begin; j < columns.end; ++j) {
      const X* x = image + ((h + i * s.dilation) * s.width + v + j * s.dilation) * s.channels;
      sum = fma(load_first(x, lanes.count), load_first(w + (i * s.kernel_width + j) * s.channels, lanes.count), sum);
    }
  }
  return sum;
}

// One vector of channels of one element of dx: taps whose window position is whole and inside dy.
template <typename Y, typename W, typename Lanes>
THIMBLE_INLINE Vec depthwise_sum_back(const ConvShape& s, const Y* image, const W* w, std::int64_t h, std::int64_t v,
                                      Lanes lanes) {
  Vec sum = zero();
  for (std::int64_t i = 0; i < s.kernel_height; ++i) {
    const std::int64_t row = h + s.padding - i * s.dilation;
    if (row < 0 || row % s.stride != 0 || row / s.stride >= s.out_height) continue;
    for (std::int64_t j = 0; j < s.kernel_width; ++j) {
      const std::int64_t column = v + s.padding - j * s.dilation;
      if (column < 0 || column % s.stride != 0 || column / s.stride >= s.out_width) continue;
      const Y* y = image + (row / s.stride * s.out_width + column / s.stride) * s.channels;
      sum = fma(load_first(y, lanes.count), load_first(w + (i * s.kernel_width + j) * s.channels, lanes.count), sum);
    }
  }
  return sum;
}

// Calls body(channel, lanes) for every vector of channels; lanes.count is a constant for whole vectors.
template <typename Body>
THIMBLE_INLINE void for_channels(std::int64_t channels, Body&& body) {
  for_vectors(
      0, channels, [&](std::int64_t c) { body(c, AllLanes{}); },
      [&](std::int64_t c, int lanes) { body(c, FirstLanes{lanes}); });
}

template <typename X, typename W, typename Y>
void depthwise_forward(const ConvShape& s, Activation activation, const TensorView* bias, const X* x, const W* w, Y* y,
                       Range rows) noexcept {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const X* image = x + row / s.out_height * s.height * s.width * s.channels;
    for (std::int64_t column = 0; column < s.out_width; ++column) {
      Y* out = y + (row * s.out_width + column) * s.channels;
      for_channels(s.channels, [&](std::int64_t c, auto lanes) {
        Vec sum = depthwise_sum(s, image + c, w + c, row % s.out_height, column, lanes);
        if (bias != nullptr) {
          with_element(bias->dtype,
                       [&](auto e) { sum = add(sum, load_first(bias->as<const decltype(e)>() + c, lanes.count)); });
        }
        store_first(out + c, activate(activation, sum), lanes.count);
      });
    }
  }
}

inline void depthwise_forward(const ConvShape& s, Activation activation, const Call& call) noexcept {
  const TensorView* bias = call.in.size() == 3 ? &call.in[2] : nullptr;
  parallel_for(call.threads, s.batch * s.out_height, [&](std::int64_t begin, std::int64_t end) {
    with_element(call.in[0].dtype, [&](auto x) {
      with_element(call.in[1].dtype, [&](auto w) {
        using X = decltype(x);
        depthwise_forward(s, activation, bias, call.in[0].as<const X>(), call.in[1].as<const decltype(w)>(),
                          call.out[0].as<X>(), {begin, end});
      });
    });
  });
}

template <typename Y, typename W>
void depthwise_grad_input(const ConvShape& s, const Y* dy, const W* w, const Y* addend, Y* dx, Range rows) noexcept {
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const Y* image = dy + row / s.height * s.out_height * s.out_width * s.channels;
    for (std::int64_t column = 0; column < s.width; ++column) {
      const std::int64_t place = (row * s.width + column) * s.channels;
      for_channels(s.channels, [&](std::int64_t c, auto lanes) {
        Vec sum = depthwise_sum_back(s, image + c, w + c, row % s.height, column, lanes);
        if (addend != nullptr) sum = add(load_first(addend + place + c, lanes.count), sum);
        store_first(dx + place + c, sum, lanes.count);
      });
    }
  }
}

inline void depthwise_grad_input(const ConvShape& s, const Call& call) noexcept {
  parallel_for(call.threads, s.batch * s.height, [&](std::int64_t begin, std::int64_t end) {
    with_element(call.in[0].dtype, [&](auto y) {
      with_element(call.in[1].dtype, [&](auto w) {
        using Y = decltype(y);
        const Y* addend = call.in.size() == 3 ? call.in[2].as<const Y>() : nullptr;
        depthwise_grad_input(s, call.in[0].as<const Y>(), call.in[1].as<const decltype(w)>(), addend,
                             call.out[0].as<Y>(), {begin, end});
      });
    });
  });
}

// One vector of channels of one tap's weight gradient: four sums take turns, since one would wait for itself; rows end
// their own sum.
template <typename X, typename Y, typename Lanes>
THIMBLE_INLINE Vec depthwise_weight_sum(const ConvShape& s, const X* x, const Y* dy, std::int64_t i, std::int64_t j,
                                        Lanes lanes) {
  const Range rows = inside_windows(s, i * s.dilation, s.height, s.out_height);
  const Range columns = inside_windows(s, j * s.dilation, s.width, s.out_width);
  Vec total = zero();
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      const std::int64_t h = row * s.stride - s.padding + i * s.dilation, v = j * s.dilation - s.padding;
      const X* x_row = x + ((b * s.height + h) * s.width + v) * s.channels;
      const Y* y_row = dy + (b * s.out_height + row) * s.out_width * s.channels;
      Vec sums[4] = {zero(), zero(), zero(), zero()};
      for (std::int64_t column = columns.begin; column < columns.end; ++column) {
        Vec& sum = sums[column % 4];
        sum = fma(load_first(x_row + column * s.stride * s.channels, lanes.count),
                  load_first(y_row + column * s.channels, lanes.count), sum);
      }
      total = add(total, add(add(sums[0], sums[1]), add(sums[2], sums[3])));
    }
  }
  return total;
}

// Calls write(place, sum, lanes) for every vector of the gradient.
template <typename Write>
void depthwise_grad_weight(const ConvShape& s, const TensorView& x, const TensorView& dy, int threads,
                           Write&& write) noexcept {
  const std::int64_t vectors = divide_up(s.channels, kLanes);
  const auto run_unit = [&](std::int64_t unit, auto x_element, auto y_element) {
    const std::int64_t tap = unit / vectors, c = unit % vectors * kLanes;
    const FirstLanes lanes = {static_cast<int>(smaller(kLanes, s.channels - c))};
    const Vec sum =
        depthwise_weight_sum(s, x.as<const decltype(x_element)>() + c, dy.as<const decltype(y_element)>() + c,
                             tap / s.kernel_width, tap % s.kernel_width, lanes);
    write(tap * s.channels + c, sum, lanes.count);
  };
  parallel_for(threads, s.taps() * vectors, [&](std::int64_t begin, std::int64_t end) {
    with_element(x.dtype, [&](auto x_element) {
      with_element(dy.dtype, [&](auto y_element) {
        for (std::int64_t unit = begin; unit < end; ++unit) run_unit(unit, x_element, y_element);
      });
    });
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA
