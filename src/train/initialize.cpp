#include "train/initialize.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "base/random.h"
#include "passes/pass.h"
#include "train/bits.h"
#include "train/sparse_pools.h"
#include "train/torch_layout.h"

namespace thimble {
namespace {

RandomKey key_for(std::uint64_t seed, std::string_view name) {
  return random_key(seed, RandomPurpose::init, hash_text(name.data(), name.size()));
}

// The initial value of PyTorch's element `index`.
double initial_value(const TensorSpec& spec, RandomKey key, std::int64_t index) {
  const auto counter = static_cast<std::uint64_t>(index);
  switch (spec.init) {
    case Init::zeros: return 0;
    case Init::ones: return 1;
    case Init::normal: return spec.scale * static_cast<double>(random_normal(key, counter));
    case Init::uniform: return spec.scale * (2 * static_cast<double>(random_uniform(key, counter)) - 1);
  }
  return 0;
}

void fill_dense(const TensorSpec& spec, const TensorView& view, const InitializeOptions& options) {
  ensure(view.shape == spec.type.shape, "initialize: '", spec.name, "' is stored as ", to_text(view.shape), ", wanted ",
         to_text(spec.type.shape));
  const TorchLayout layout(spec.type.shape);
  const RandomKey key = key_for(options.seed, spec.name);
  parallel_for(options.threads, layout.count(), [&](std::int64_t begin, std::int64_t end) {
    layout.for_torch_range(begin, end - begin, [&](std::int64_t torch, std::int64_t ours) {
      store(view, ours, initial_value(spec, key, torch));
    });
  });
}

void draw_mask(const SparseSlot& slot, std::int64_t nonzeros, std::uint64_t seed) {
  const std::string stream = "mask/" + std::string(slot.name);
  Selection selection(key_for(seed, stream), 0, slot.element_count(), nonzeros);
  for (std::int64_t element = 0; element < slot.element_count(); ++element) {
    if (selection.takes_next()) set_bit(slot.mask, element);
  }
}

void fill_slot(const TensorSpec& spec, const SparsePools& pools, std::int64_t index, const InitializeOptions& options) {
  const SparseSlot& slot = pools.slots[static_cast<std::size_t>(index)];
  const std::int64_t nonzeros = sparse_nonzeros(slot.element_count(), options.sparsity);
  const std::int64_t begin = pools.table[index];
  ensure(begin + nonzeros <= pools.capacity, "initialize: '", slot.name, "' ends at element ", begin + nonzeros,
         " of a pool of ", pools.capacity);
  pools.table[index + 1] = static_cast<std::int32_t>(begin + nonzeros);
  draw_mask(slot, nonzeros, options.seed);
  const TorchLayout layout(slot.shape);
  const RandomKey key = key_for(options.seed, spec.name);
  std::int64_t place = begin;
  for_each_bit(slot.mask, slot.element_count(), [&](std::int64_t element) {
    store(pools.parameter, place++, initial_value(spec, key, layout.torch_index(element)));
  });
}

}  // namespace

void initialize(const StateView& state, const InitializeOptions& options) {
  for (const Program::Persistent& persistent : state.persistents) {
    const std::span<std::byte> bytes = bytes_of(room_for(state, persistent));
    std::memset(bytes.data(), 0, bytes.size());
    put_back(state, persistent);
  }
  const SparsePools pools = sparse_pools(state);
  for (const TensorSpec& spec : state.tensors) {
    const auto slot = std::find(state.sparse_tensors.begin(), state.sparse_tensors.end(), spec.name);
    if (slot == state.sparse_tensors.end()) {
      const Program::Persistent& persistent = known_persistent(state.persistents, spec.name);
      fill_dense(spec, room_for(state, persistent), options);
      put_back(state, persistent);
    }
  }
  for (std::int64_t index = 0; index < pools.slot_count(); ++index) {
    const auto spec = std::find_if(state.tensors.begin(), state.tensors.end(), [&](const TensorSpec& tensor) {
      return tensor.name == pools.slots[static_cast<std::size_t>(index)].name;
    });
    fill_slot(*spec, pools, index, options);
  }
  const std::string wrong = inconsistency(pools);
  ensure(wrong.empty(), "initialize: ", wrong);
}

}  // namespace thimble
