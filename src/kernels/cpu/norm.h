// The elementwise parts of batch and group norm, forward and backward, for one range of wide rows with its
// coefficients. y = (x - mean) * scale + beta with scale = rstd * gamma; the mask of a fused rectifier is found again
// from x by the same formula.
#pragma once

#include "kernels/cpu/activation.h"
#include "kernels/cpu/moments.h"
#include "kernels/cpu/stream.h"

namespace thimble::kernels::THIMBLE_ISA {

struct Coefficients {
  float *mean = nullptr, *scale = nullptr, *beta = nullptr;  // (width) each

  static Coefficients carve(Carver& carver, const Matrix& m) {
    return {carver.take<float>(m.width()), carver.take<float>(m.width()), carver.take<float>(m.width())};
  }
};

// Which mean and rstd belong to the channels of a matrix: from `first` on, one for `run` channels each. Batch norm: a
// run of 1.
struct Statistics {
  const float *mean = nullptr, *rstd = nullptr;
  std::int64_t run = 1;

  Statistics(const TensorView& means, const TensorView& rstds, std::int64_t first = 0, std::int64_t channels_each = 1)
      : mean(means.as<const float>() + first), rstd(rstds.as<const float>() + first), run(channels_each) {}
};

static inline void fill_coefficients(const Matrix& m, const Statistics& from, const TensorView& gamma,
                                     const TensorView& beta, const Coefficients& to) {
  for (std::int64_t c = 0, s = 0; c < m.channels; c += from.run, ++s) {
    for (std::int64_t k = c; k < c + from.run; ++k) {
      to.mean[k] = from.mean[s];
      to.scale[k] = from.rstd[s] * gamma.as<const float>()[k];
    }
  }
  std::memcpy(to.beta, beta.data, static_cast<std::size_t>(m.channels) * sizeof(float));
  for (float* wide : {to.mean, to.scale, to.beta}) repeat_folds(m, wide);
}

// Reads an element before it writes it, so that y may lie over x or the addend.
template <typename T, Activation kActivation, bool kAdds>
struct NormalizeMap {
  static constexpr bool kRunsByRows = true;
  const T* x;
  const T* addend;
  T* y;
  Coefficients from;
  bool streams = false;
  struct Panel {
    Vec mean, scale, beta;
  };
  template <typename Lanes>
  [[gnu::always_inline]] Panel open(std::int64_t column, Lanes lanes) const {
    return {load(from.mean + column, lanes), load(from.scale + column, lanes), load(from.beta + column, lanes)};
  }
  template <typename Lanes>
  [[gnu::always_inline]] void step(const Panel& panel, std::int64_t index, Lanes lanes) const {
    Vec value = fma(sub(load(x + index, lanes), panel.mean), panel.scale, panel.beta);
    if constexpr (kAdds) value = add(load(addend + index, lanes), value);
    store_result(y + index, activate(kActivation, value), lanes, streams);
  }
  [[gnu::always_inline]] void fetch_ahead(std::int64_t index) const {
    fetch(x + index);
    if constexpr (kAdds) fetch(addend + index);
  }
};

// p = dy behind the rectifier, q = x - mean: their sums are dbeta and dgamma / rstd.
template <typename T, Activation kActivation>
struct GradientTerms {
  const T* x;
  const T* dy;
  Coefficients from;
  struct Panel {
    Vec mean, scale, beta;
  };
  template <typename Lanes>
  [[gnu::always_inline]] Panel open(std::int64_t column, Lanes lanes) const {
    return {load(from.mean + column, lanes), load(from.scale + column, lanes), load(from.beta + column, lanes)};
  }
  template <typename Lanes>
  [[gnu::always_inline]] void step(const Panel& panel, std::int64_t index, Lanes lanes, Vec& p, Vec& q) const {
    q = sub(load(x + index, lanes), panel.mean);
    const Vec gradient = load(dy + index, lanes);
    p = where_active(kActivation, fma(q, panel.scale, panel.beta), gradient);
  }
  [[gnu::always_inline]] void fetch_ahead(std::int64_t index) const {
    fetch(x + index);
    fetch(dy + index);
  }
};

// dx = scale * dy + slope * (x - mean) + level, where slope and level carry the sums, alone or added to another
// gradient. Reads an element before it writes it, so that dx may lie over any of its operands.
template <typename T, Activation kActivation, bool kAdds>
struct GradientMap {
  static constexpr bool kRunsByRows = std::is_same_v<T, float>;  // five coefficients for half as many bytes of bf16
  const T* x;
  const T* dy;
  const T* addend;
  T* dx;
  Coefficients from;
  const float *slope, *level;  // (width)
  struct Panel {
    Vec mean, scale, beta, slope, level;
  };
  template <typename Lanes>
  [[gnu::always_inline]] Panel open(std::int64_t column, Lanes lanes) const {
    return {load(from.mean + column, lanes), load(from.scale + column, lanes), load(from.beta + column, lanes),
            load(slope + column, lanes), load(level + column, lanes)};
  }
  template <typename Lanes>
  [[gnu::always_inline]] void step(const Panel& panel, std::int64_t index, Lanes lanes) const {
    const Vec distance = sub(load(x + index, lanes), panel.mean);
    const Vec before = fma(distance, panel.scale, panel.beta);
    const Vec gradient = where_active(kActivation, before, load(dy + index, lanes));
    Vec result = fma(panel.scale, gradient, fma(panel.slope, distance, panel.level));
    if constexpr (kAdds) result = add(load(addend + index, lanes), result);
    store(dx + index, result, lanes);
  }
  [[gnu::always_inline]] void fetch_ahead(std::int64_t index) const {
    fetch(x + index);
    fetch(dy + index);
    if constexpr (kAdds) fetch(addend + index);
  }
};

// Calls body(element, activation) with both as compile-time facts.
template <typename Body>
void with_norm(DType dtype, Activation activation, Body&& body) {
  with_element(dtype, [&](auto element) { with_activation(activation, [&](auto known) { body(element, known); }); });
}

// What a norm makes of x, where y goes, and what joins it on the way; null: nothing.
struct Normalized {
  const TensorView& x;
  const TensorView& y;
  Activation activation = Activation::none;
  const TensorView* addend = nullptr;
};

static inline void normalize_range(const Matrix& m, const Normalized& what, Range elements, const Coefficients& from) {
  with_norm(what.x.dtype, what.activation, [&](auto element, auto known) {
    using T = decltype(element);
    const T* x = what.x.as<const T>();
    T* y = what.y.as<T>();
    const T* addend = what.addend == nullptr ? nullptr : what.addend->as<const T>();
    const bool streams = y != x && y != addend && is_streamed(y + elements.begin, what.y.shape.count(), m.width());
    if (addend != nullptr) {
      map_columns(m, elements, NormalizeMap<T, decltype(known)::value, true>{x, addend, y, from, streams});
    } else {
      map_columns(m, elements, NormalizeMap<T, decltype(known)::value, false>{x, nullptr, y, from, streams});
    }
    if (streams) end_streams();
  });
}

static inline void moments_of_range(const Matrix& m, const TensorView& x, Range elements, const ColumnSums& sums,
                                    Moments* moments) {
  with_element(x.dtype,
               [&](auto element) { column_moments(m, x.as<const decltype(element)>(), elements, sums, moments); });
}

// Leaves sums of dy and dy * (x - mean) a channel in front of sums.first and sums.second.
static inline void gradient_sums(const Matrix& m, const TensorView& x, const TensorView& dy, Activation activation,
                                 Range elements, const Coefficients& from, const ColumnSums& sums) {
  clear(sums.first, m.width());
  clear(sums.second, m.width());
  with_norm(x.dtype, activation, [&](auto element, auto known) {
    using T = decltype(element);
    sum_columns(m, elements, GradientTerms<T, decltype(known)::value>{x.as<const T>(), dy.as<const T>(), from},
                sums.first, sums.second);
  });
  gather_folds(m, sums.first);
  gather_folds(m, sums.second);
}

// Operands of a norm's gradient: x, mean, rstd, gamma, beta, dy and, where the gradient is added to another, that.
static inline void gradient_range(const Matrix& m, const Call& call, Activation activation, Range elements,
                                  const Coefficients& from, const float* slope, const float* level) {
  with_norm(call.in[0].dtype, activation, [&](auto element, auto known) {
    using T = decltype(element);
    const T *x = call.in[0].as<const T>(), *dy = call.in[5].as<const T>();
    T* dx = call.out[0].as<T>();
    if (call.in.size() == 7) {
      const T* addend = call.in[6].as<const T>();
      map_columns(m, elements, GradientMap<T, decltype(known)::value, true>{x, dy, addend, dx, from, slope, level});
    } else {
      map_columns(m, elements, GradientMap<T, decltype(known)::value, false>{x, dy, nullptr, dx, from, slope, level});
    }
  });
}

// x is the first input; every other floating tensor is shaped like it or holds f32 statistics and parameters.
static inline std::string refuse_norm(const KernelQuery& q) {
  const Type& x = q.in[0];
  if (kRoundsAtOnce && x.dtype != DType::bf16) return "is for what is rounded to bf16";
  if (!is_stored(x.dtype)) return "serves f32 and bf16 only";
  if (x.shape.count() == 0) return "serves tensors that have elements only";
  for (const std::span<const Type> types : {q.in, q.out}) {
    for (const Type& type : types) {
      if (type != x && type.dtype != DType::f32) return "serves f32 statistics and parameters only";
    }
  }
  return "";
}

}  // namespace thimble::kernels::THIMBLE_ISA
