// What a convolution may do to its source while it copies a band of it, or, depthwise, loads it: norm and rectifier by
// given statistics, so that the normalised tensor is never stored. The arithmetic is that of 'normalize'.
#pragma once

#include "kernels/cpu/activation.h"
#include "kernels/cpu/units.h"

namespace thimble::kernels::THIMBLE_ISA {

struct SourceNorm {
  bool exists = false;
  std::int64_t groups = 0;  // 0: batch norm
  Activation activation = Activation::none;
  std::int64_t channels = 0;

  std::int64_t row() const { return round_up(channels, 16); }
  std::int64_t elements() const { return exists ? 3 * row() : 0; }  // of a thread's coefficients
};

inline SourceNorm source_norm(const Attributes& attributes, const Type& x) {
  return {true, attributes.integer("norm_groups"), activation_of(attributes, "norm_activation"), x.shape[3]};
}

constexpr std::size_t kNormOperands = 4;  // mean, rstd, gamma, beta

// The same call or query without the operands of the norm, which stand behind operand `first`.
template <typename T>
struct PlainOperands {
  T in[3];
  std::size_t count = 0;

  PlainOperands(std::span<const T> all, std::size_t first) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i <= first || i > first + kNormOperands) in[count++] = all[i];
    }
  }
  std::span<const T> span() const { return {in, count}; }
};

// The norm of one vector of channels.
struct NormVectors {
  Vec mean, scale, beta;

  template <Activation kActivation>
  [[gnu::always_inline]] Vec apply(Vec x) const {
    return activate(kActivation, fma(multiplier_sub(x, mean), scale, beta));
  }
};

// What the norm makes of a vector of channels, its activation as limits: large loops are compiled once, not for each.
struct LimitedNorm {
  NormVectors norm;
  Vec low, high;

  [[gnu::always_inline]] Vec operator()(Vec x) const {
    return min(high, max(low, fma(sub(x, norm.mean), norm.scale, norm.beta)));  // NaN passes
  }
};

// What is read as it is.
struct NoNorm {
  [[gnu::always_inline]] Vec operator()(Vec x) const { return x; }
};

// One thread's coefficients; where statistics are a sample's own, they are made anew for every image.
class BandNorm {
 public:
  // `operands` are empty without a norm.
  BandNorm(const SourceNorm& norm, std::span<const TensorView> operands, float* scratch)
      : norm_(norm), operands_(operands), mean_(scratch), scale_(scratch + norm.row()), beta_(scale_ + norm.row()) {}

  bool exists() const { return norm_.exists; }

  void enter(std::int64_t image) { enter(image, {0, norm_.channels}); }
  // For one that reads some channels alone: others of the scratch may be another thread's.
  void enter(std::int64_t image, Range channels) {
    const std::int64_t wanted = norm_.groups == 0 ? 0 : image;
    if (!norm_.exists || wanted == entered_) return;
    entered_ = wanted;
    const std::int64_t run = norm_.groups == 0 ? 1 : norm_.channels / norm_.groups, first = wanted * norm_.groups;
    const float *mean = operands_[0].as<const float>() + first, *rstd = operands_[1].as<const float>() + first;
    const float *gamma = operands_[2].as<const float>(), *beta = operands_[3].as<const float>();
    for (std::int64_t c = channels.begin; c < channels.end; ++c) {
      mean_[c] = mean[c / run];
      scale_[c] = rstd[c / run] * gamma[c];
      beta_[c] = beta[c];
    }
  }

  template <typename Lanes>
  [[gnu::always_inline]] NormVectors vectors(std::int64_t channel, Lanes lanes) const {
    return {load(mean_ + channel, lanes), load(scale_ + channel, lanes), load(beta_ + channel, lanes)};
  }
  template <typename Lanes>
  [[gnu::always_inline]] LimitedNorm limited(std::int64_t channel, Lanes lanes) const {
    constexpr float kNone = std::numeric_limits<float>::infinity();
    const Activation activation = norm_.activation;
    return {vectors(channel, lanes), broadcast(activation == Activation::none ? -kNone : 0),
            broadcast(activation == Activation::relu6 ? 6 : kNone)};
  }
  Activation activation() const { return norm_.activation; }

  // Calls body(column, lanes, change) on pieces of the chosen channels: `column` counts from the first of them, and
  // change(value) is what the norm makes of a vector of them; without a norm, the value itself.
  template <typename Body>
  void for_columns(Range channels, Body&& body) const noexcept {
    if (!norm_.exists) {
      each_vector(0, channels.end - channels.begin,
                  [&](std::int64_t c, auto lanes) { body(c, lanes, [](Vec value) { return value; }); });
      return;
    }
    with_activation(norm_.activation, [&](auto known) {
      each_vector(0, channels.end - channels.begin, [&](std::int64_t c, auto lanes) {
        const NormVectors norm = vectors(channels.begin + c, lanes);
        body(
            c,
            lanes, [=](Vec value) __attribute__((always_inline)) { return norm.apply<decltype(known)::value>(value); });
      });
    });
  }

  // Chosen channels of pixels that lie `step` elements apart, `row` elements apart.
  template <typename Out, typename T>
  void copy(Out* to, std::int64_t row, const T* from, std::int64_t pixels, std::int64_t step,
            Range channels) const noexcept {
    for_columns(channels, [=](std::int64_t c, auto lanes, auto change) {
      Out* out = to + c;
      const T* in = from + c;
      for (std::int64_t j = 0; j < pixels; ++j, out += row, in += step) store(out, change(load(in, lanes)), lanes);
    });
  }

 private:
  const SourceNorm& norm_;
  std::span<const TensorView> operands_;
  float *mean_, *scale_, *beta_;
  std::int64_t entered_ = -1;
};

constexpr std::int64_t kLeastMatrixChannels = 16;  // a group, read and written: half a register's pairs

// Where units are pairs, what is read is bf16 already, weights and what a norm makes excepted: those are rounded.
inline std::string refuse_source(const KernelQuery& q, const Type& source, const Type& weights) {
  if (kHasPairs && source.dtype != kUnitDType) return "multiplies pairs of bf16";
  const std::int64_t groups = q.attributes->integer("groups");
  if (kHasPairs && weights.shape[2] == 1 && groups > 1) return "finds no pairs in one channel a group";
  if (kHasMatrices && smaller(weights.shape[2], weights.shape[3] / groups) < kLeastMatrixChannels)
    return "would fill less than half of matrix registers";
  return refuse_unstored(q);
}

// The same for what gathers from operand 0. Depthwise there are no pairs to multiply, but results to round: the pace is
// wrong then, but it is bytes that count.
inline std::string refuse_gather(const KernelQuery& q, const Type& weights) {
  const bool is_depthwise = weights.shape[2] == 1 && weights.shape[3] == q.attributes->integer("groups");
  if (kRoundsAtOnce && is_depthwise && q.in[0].dtype == DType::bf16) return refuse_unstored(q);
  return refuse_source(q, q.in[0], weights);
}

// Operand `first` is a source with a norm.
inline std::string refuse_norm(const KernelQuery& q, std::size_t first) {
  for (std::size_t i = first + 1; i <= first + kNormOperands; ++i) {
    if (q.in[i].dtype != DType::f32) return "serves f32 statistics and parameters only";
  }
  return {};
}

// Such a source is read by a convolution with such weights.
inline std::string refuse_norm_source(const KernelQuery& q, std::size_t first, const Type& weights) {
  std::string reason = refuse_norm(q, first);
  return reason.empty() ? refuse_source(q, q.in[first], weights) : reason;
}

}  // namespace thimble::kernels::THIMBLE_ISA
