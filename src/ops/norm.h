// The mathematics that batch norm and group norm share. A norm splits x into patches; the elements of a patch share one
// mean and one reciprocal standard deviation. Batch norm: a patch is a channel over the whole batch. Group norm: a
// group of channels of one sample.
#pragma once

#include "ops/activation.h"

namespace thimble::ops {

// Statistics and their parameters keep f32 beside bf16 activations: sums over a batch need the mantissa.
inline DType statistic_dtype(DType x) { return x == DType::f64 ? DType::f64 : DType::f32; }

// The elements of x that share one statistic: `rows` runs of `length` neighbours, `step` apart.
struct Patch {
  std::int64_t first = 0, rows = 0, step = 0, length = 0;
  double count() const { return static_cast<double>(rows * length); }
};

template <typename Body>
void for_each_index(const Patch& patch, Body&& body) noexcept {
  for (std::int64_t row = 0; row < patch.rows; ++row) {
    for (std::int64_t i = 0; i < patch.length; ++i) body(patch.first + row * patch.step + i);
  }
}

struct NormShape {
  std::int64_t batch = 1, positions = 1, channels = 1;  // x is (B, C) or (B, H, W, C); positions = H * W
  std::int64_t groups = 0;                              // 0: batch norm

  NormShape(const Shape& x, std::int64_t group_count) noexcept
      : batch(x[0]), positions(x.rank() == 4 ? x[1] * x[2] : 1), channels(x.at(-1)), groups(group_count) {}

  std::int64_t count() const { return batch * positions * channels; }
  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t patch_count() const { return groups == 0 ? channels : batch * groups; }
  Shape statistic_shape() const { return groups == 0 ? Shape{channels} : Shape{batch, groups}; }

  std::int64_t channel_of(std::int64_t index) const { return index % channels; }
  // Which patch, and so which mean and rstd, an element of x belongs to.
  std::int64_t patch_of(std::int64_t index) const {
    if (groups == 0) return channel_of(index);
    return index / (positions * channels) * groups + channel_of(index) / group_channels();
  }
  Patch patch(std::int64_t number) const {
    if (groups == 0) return {number, batch * positions, channels, 1};
    const std::int64_t sample = number / groups, group = number % groups;
    return {sample * positions * channels + group * group_channels(), positions, channels, group_channels()};
  }
};

inline void require_norm_input(std::string_view op, const Type& x) {
  require_floating(op, "x", x);
  require(x.shape.rank() == 2 || x.shape.rank() == 4, op, ": x is ", x, ", wanted (B, C) or (B, H, W, C)");
  require_not_empty(op, "x", x);
}

// The number of groups of a group norm; divides the channels.
inline std::int64_t require_groups(std::string_view op, const OpQuery& q, const Type& x) {
  const std::int64_t groups = integer_between(op, q, "groups", 1, kMaxExtent);
  require(x.shape.at(-1) % groups == 0, op, ": x is ", x, ", wanted a number of channels that groups ", groups,
          " divides");
  return groups;
}

// gamma, beta and others of length C
inline void require_channel_vector(std::string_view op, std::string_view what, const Type& type, const Type& x) {
  require_type(op, what, type, {statistic_dtype(x.dtype), {x.shape.at(-1)}});
}

inline Type statistic_type(const Type& x, std::int64_t groups) {
  return {statistic_dtype(x.dtype), NormShape(x.shape, groups).statistic_shape()};
}

struct Moments {
  double mean = 0, rstd = 0;
};

// Two passes: the variance is taken around the mean, so nothing cancels. Biased: divided by the count.
inline Moments moments_of(const TensorView& x, const Patch& patch, double eps) noexcept {
  double sum = 0;
  for_each_index(patch, [&](std::int64_t i) { sum += load(x, i); });
  const double mean = sum / patch.count();
  double squares = 0;
  for_each_index(patch, [&](std::int64_t i) { squares += (load(x, i) - mean) * (load(x, i) - mean); });
  return {mean, 1.0 / std::sqrt(squares / patch.count() + eps)};
}

inline void store_moments(const NormShape& shape, const TensorView& x, double eps, const TensorView& mean,
                          const TensorView& rstd) noexcept {
  for (std::int64_t p = 0; p < shape.patch_count(); ++p) {
    const Moments moments = moments_of(x, shape.patch(p), eps);
    store(mean, p, moments.mean);
    store(rstd, p, moments.rstd);
  }
}

// What forward and backward both read of a norm. Both take the statistics as stored, rounded: so backward derives the
// rectifier's mask from x by the very same numbers that forward saw.
struct NormOperands {
  NormShape shape;
  TensorView x, mean, rstd, gamma, beta;

  double centered(std::int64_t i) const noexcept {
    const std::int64_t p = shape.patch_of(i);
    return (load(x, i) - load(mean, p)) * load(rstd, p);
  }
  double before_activation(std::int64_t i) const noexcept {
    const std::int64_t c = shape.channel_of(i);
    return centered(i) * load(gamma, c) + load(beta, c);
  }
};

inline void store_normalized(const NormOperands& n, Activation activation, const TensorView& y) noexcept {
  for (std::int64_t i = 0; i < n.shape.count(); ++i) store(y, i, activate(activation, n.before_activation(i)));
}

}  // namespace thimble::ops
