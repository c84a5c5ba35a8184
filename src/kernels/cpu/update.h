// What the update kernels share: their state, the numbers of a call, and one block of work. The dense update kernels
// are this file with the name of a rule.
#pragma once

#include "kernels/cpu/update_rules.h"

namespace thimble::kernels::THIMBLE_ISA {

struct UpdateState : KernelState {
  UpdateRule rule;
  double weight_decay = 0, momentum = 0, beta1 = 0, beta2 = 0, eps = 0;
  bool is_stochastic = false;
  std::uint64_t key = 0;

  UpdateState(const UpdateRule& chosen, const Attributes& attributes)
      : rule(chosen),
        is_stochastic(attributes.has("rounding") && attributes.word("rounding") == "stochastic"),
        key(is_stochastic ? static_cast<std::uint64_t>(attributes.integer("key")) : 0) {
    const auto number = [&](std::string_view name) { return attributes.has(name) ? attributes.number(name) : 0.0; };
    weight_decay = number("weight_decay");
    momentum = number("momentum");
    beta1 = number("beta1");
    beta2 = number("beta2");
    eps = number("eps");
  }

  Rounding rounding(const RunScalars& scalars) const {
    if (!is_stochastic) return {};
    return {true, random_key(scalars.seed, RandomPurpose::rounding, key), scalars.turn()};
  }
};

static inline Vec lanes_of(double value) { return broadcast(static_cast<float>(value)); }

static inline UpdateNumbers update_numbers(const UpdateState& state, const RunScalars& scalars) {
  const auto rate = static_cast<double>(scalars.learning_rate), t = static_cast<double>(scalars.iteration + 1);
  return {.negative_rate = lanes_of(-rate),
          .weight_decay = lanes_of(state.weight_decay),
          .momentum = lanes_of(state.momentum),
          .beta1 = lanes_of(state.beta1),
          .beta2 = lanes_of(state.beta2),
          .rest1 = lanes_of(1 - state.beta1),
          .rest2 = lanes_of(1 - state.beta2),
          .eps = lanes_of(state.eps),
          .decay = lanes_of(1 - rate * state.weight_decay),
          .negative_step = lanes_of(-rate / (1 - std::pow(state.beta1, t))),
          .inverse_correction2 = lanes_of(1 / (1 - std::pow(state.beta2, t)))};
}

// One block of the rule's tensors. in[k] are read and out[k] written at the same places; the gradient is given as f32.
struct UpdateTensors {
  const TensorView* in = nullptr;
  const TensorView* out = nullptr;
};

static inline void update_block(const UpdateRule& rule, const UpdateTensors& tensors, const float* gradient,
                                std::int64_t place, std::int64_t count, const UpdateNumbers& numbers,
                                const Rounding& rounding, const std::int64_t* elements) {
  alignas(64) float buffers[kMaxUpdateTensors][kBlock];
  UpdateBlock block{.gradient = gradient};
  for (int k = 0; k < rule.inputs; ++k) block.in[k] = open_block(tensors.in[k], place, count, buffers[k]);
  for (int k = 0; k < rule.outputs; ++k) block.out[k] = target_block(tensors.out[k], place, buffers[k]);
  rule.apply(block, count, numbers);
  for (int k = 0; k < rule.outputs; ++k) close_block(tensors.out[k], place, count, block.out[k], rounding, elements, k);
}

// The gradient's scale, if the call has one: the input behind the gradient.
static inline bool has_scale(const Call& call, std::size_t input) { return input < call.in.size(); }

// `values` times the scale, in `buffer`, which may be where they lie.
static inline const float* scaled_block(const float* values, std::int64_t count, float scale, float* buffer) {
  const Vec factor = broadcast(scale);
  each_vector(0, count,
              [=](std::int64_t i, auto lanes) { store(buffer + i, mul(load(values + i, lanes), factor), lanes); });
  return buffer;
}

// A rule and all that one call knows, for runs of neighbouring elements.
struct UpdateRun {
  const UpdateRule& rule;
  UpdateTensors tensors;
  UpdateNumbers numbers;
  Rounding rounding;

  UpdateRun(const UpdateState& state, const Call& call)
      : rule(state.rule),
        tensors{call.in.data(), call.out.data()},
        numbers(update_numbers(state, *call.scalars)),
        rounding(state.rounding(*call.scalars)) {}

  // Has what the rule reads of some elements brought near: places far apart are not foreseen by hardware.
  void fetch(std::int64_t place, std::int64_t count) const noexcept {
    for (int k = 0; k < rule.inputs; ++k) {
      const std::int64_t width = bytes_of(tensors.in[k].dtype);
      const std::byte* from = tensors.in[k].as<const std::byte>() + place * width;
      for (std::int64_t i = 0; i < count * width; i += kLineBytes) __builtin_prefetch(from + i);
    }
  }

  // At most a block.
  void apply(const float* gradient, std::int64_t place, std::int64_t count) const noexcept {
    std::int64_t elements[kBlock];
    if (rounding.is_stochastic) {
      for (std::int64_t i = 0; i < count; ++i) elements[i] = place + i;
    }
    update_block(rule, tensors, gradient, place, count, numbers, rounding, elements);
  }
};

// Inputs: the rule's tensors, then the gradient, all of one shape, and its scale or nothing.
static inline Status run_dense_update(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const UpdateState&>(base);
  const UpdateRun update(state, call);
  const std::int64_t count = call.in[0].shape.count();
  const auto place_of_gradient = static_cast<std::size_t>(state.rule.inputs);
  const TensorView& gradient = call.in[place_of_gradient];
  const bool is_scaled = has_scale(call, place_of_gradient + 1);
  const auto scale = is_scaled ? static_cast<float>(load(call.in[place_of_gradient + 1], 0)) : 1.0F;
  parallel_for(threads_for(count, call.threads), (count + kBlock - 1) / kBlock,
               [&](std::int64_t begin, std::int64_t end) {
                 alignas(64) float buffer[kBlock];
                 for (std::int64_t place = begin * kBlock; place < smaller(end * kBlock, count); place += kBlock) {
                   const std::int64_t length = smaller(kBlock, count - place);
                   const float* values = open_block(gradient, place, length, buffer);
                   if (is_scaled) values = scaled_block(values, length, scale, buffer);
                   update.apply(values, place, length);
                 }
               });
  return Status::good;
}

}  // namespace thimble::kernels::THIMBLE_ISA
