// The sparse tensors of a run: slots of shared pools. Slot s owns elements table[s] .. table[s+1] of every pool, and
// the k-th set bit of its mask is the k-th of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "train/state_view.h"

namespace thimble {

struct SparseSlot {
  std::string_view name;
  Shape shape;  // of the dense tensor, in our layout
  std::uint8_t* mask = nullptr;

  std::int64_t element_count() const { return shape.count(); }
};

struct SparsePools {
  std::vector<SparseSlot> slots;
  std::int32_t* table = nullptr;  // (slots + 1)
  TensorView parameter;           // (capacity)
  std::vector<TensorView> all;    // every pool that is state: parameter, momentum, moments
  std::int64_t capacity = 0;

  std::int64_t slot_count() const { return static_cast<std::int64_t>(slots.size()); }
  std::int64_t nonzeros(std::int64_t slot) const { return table[slot + 1] - table[slot]; }
  std::int64_t position_count() const;  // of all slots
};

// Nothing if the state has no sparse tensors.
SparsePools sparse_pools(const StateView& state);

// Empty if table and masks agree with each other and with the pools; else what is wrong.
std::string inconsistency(const SparsePools& pools);

// The slot's tensor with its zeros, in our layout; `dense` takes the whole tensor in the pool's dtype.
void expand_slot(const SparsePools& pools, std::int64_t slot, const TensorView& dense);
// The other way: the pool takes the tensor's values at the positions of the mask.
void gather_slot(const SparsePools& pools, std::int64_t slot, const TensorView& dense);

// The start of `scratch` as a dense tensor of the slot's shape. InternalError if it is too small, which cannot be:
// every iteration unpacks the tensor there too.
TensorView dense_scratch(const SparsePools& pools, std::int64_t slot, std::span<std::byte> scratch);

}  // namespace thimble
