// Updates of one slot of the pools that hold a sparse parameter and its state, by any of the rules.
#pragma once

#include "kernels/cpu/sparse.h"
#include "kernels/cpu/update.h"

namespace thimble::kernels::THIMBLE_ISA {

struct SparseUpdateState : UpdateState {
  using UpdateState::UpdateState;
  std::int64_t slot = 0;
  bool has_pooled_gradient = false;
};

// gradient[k] = dense[elements[k]]
static inline void gather_block(const TensorView& dense, const std::int64_t* elements, std::int64_t count,
                                float* buffer) {
  with_element(dense.dtype, [&](auto element) {
    using T = decltype(element);
    const T* from = dense.as<const T>();
    for (std::int64_t k = 0; k < count; ++k) {
      if constexpr (std::is_same_v<T, float>) {
        buffer[k] = from[elements[k]];
      } else {
        buffer[k] = to_float(from[elements[k]]);
      }
    }
  });
}

// `pools` are the rule's inputs; outputs are written in their place.
static inline void run_sparse_update(const SparseUpdateState& state, const Call& call, std::size_t pools) {
  const TensorView &mask = call.in[pools], &gradient = call.in[pools + 2];
  const auto outputs = static_cast<std::size_t>(state.rule.outputs);
  TensorView tensors[kMaxUpdateTensors];
  for (std::size_t k = 0; k < pools; ++k) tensors[k] = k < outputs ? call.out[k] : call.in[k];
  for (std::size_t k = 0; k < outputs; ++k) copy_pool(call.in[k], call.out[k]);
  const Range slot = slot_of(call.in[pools + 1], state.slot, call.in[0].shape.count());
  const UpdateNumbers numbers = update_numbers(state, *call.scalars);
  const Rounding rounding = state.rounding(*call.scalars);
  const bool is_scaled = has_scale(call, pools + 3);
  const auto scale = is_scaled ? static_cast<float>(load(call.in[pools + 3], 0)) : 1.0F;
  const std::int64_t bytes = mask.shape.count();
  const std::int64_t count = state.has_pooled_gradient ? bytes * 8 : gradient.shape.count();
  parallel_for(threads_for(count, call.threads), bytes, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) float buffer[kBlock];
    each_run(mask.as<const std::uint8_t>(), {begin, end}, count, slot,
             [&](std::int64_t place, const std::int64_t* elements, std::int64_t length) {
               const float* values = buffer;
               if (state.has_pooled_gradient) {
                 values = open_block(gradient, place, length, buffer);
               } else {
                 gather_block(gradient, elements, length, buffer);
               }
               if (is_scaled) values = scaled_block(values, length, scale, buffer);
               update_block(state.rule, {tensors, call.out.data()}, values, place, length, numbers, rounding, elements);
             });
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA
