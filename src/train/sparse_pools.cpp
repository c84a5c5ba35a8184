#include "train/sparse_pools.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "train/bits.h"

namespace thimble {
namespace {

const TensorSpec& spec_of(const StateView& state, std::string_view name) {
  const auto found = std::find_if(state.tensors.begin(), state.tensors.end(),
                                  [&](const TensorSpec& spec) { return spec.name == name; });
  ensure(found != state.tensors.end(), "state: the network has no tensor '", name, "'");
  return *found;
}

std::string slot_inconsistency(const SparsePools& pools, std::int64_t index) {
  const SparseSlot& slot = pools.slots[static_cast<std::size_t>(index)];
  const std::int64_t begin = pools.table[index], end = pools.table[index + 1];
  if (end < begin) return join_text("the table gives '", slot.name, "' elements ", begin, " to ", end);
  const std::int64_t bits = count_bits(slot.mask, slot.element_count());
  if (bits != end - begin) {
    return join_text("the mask of '", slot.name, "' has ", bits, " positions, the table wants ", end - begin);
  }
  const std::int64_t spare = slot.element_count() % 8;
  if (spare != 0 && (slot.mask[slot.element_count() / 8] >> spare) != 0) {
    return join_text("the mask of '", slot.name, "' has positions beyond its ", slot.element_count(), " elements");
  }
  return "";
}

}  // namespace

std::int64_t SparsePools::position_count() const {
  std::int64_t count = 0;
  for (const SparseSlot& slot : slots) count += slot.element_count();
  return count;
}

SparsePools sparse_pools(const StateView& state) {
  SparsePools pools;
  if (state.sparse_tensors.empty()) return pools;
  pools.table = get_persistent(state.persistents, kSparseTable).as<std::int32_t>();
  for (const std::string& name : state.sparse_tensors) {
    pools.slots.push_back({.name = name,
                           .shape = spec_of(state, name).type.shape,
                           .mask = get_persistent(state.persistents, "mask/" + name).as<std::uint8_t>()});
  }
  pools.parameter = get_persistent(state.persistents, "pool/parameter");
  pools.capacity = pools.parameter.shape.count();
  for (const Program::Persistent& persistent : state.persistents) {
    if (persistent.name.starts_with("pool/") && is_state(persistent.role)) pools.all.push_back(persistent.view);
  }
  return pools;
}

std::string inconsistency(const SparsePools& pools) {
  if (pools.slots.empty()) return "";
  const std::int64_t first = pools.table[0], last = pools.table[pools.slot_count()];
  if (first != 0 || last != pools.capacity) {
    return join_text("the table covers elements ", first, " to ", last, ", wanted 0 to ", pools.capacity);
  }
  for (std::int64_t slot = 0; slot < pools.slot_count(); ++slot) {
    if (std::string wrong = slot_inconsistency(pools, slot); !wrong.empty()) return wrong;
  }
  return "";
}

void expand_slot(const SparsePools& pools, std::int64_t index, const TensorView& dense) {
  const SparseSlot& slot = pools.slots[static_cast<std::size_t>(index)];
  const std::span<std::byte> bytes = bytes_of(dense);
  std::memset(bytes.data(), 0, bytes.size());
  std::int64_t place = pools.table[index];
  for_each_bit(slot.mask, slot.element_count(),
               [&](std::int64_t element) { store(dense, element, load(pools.parameter, place++)); });
}

void gather_slot(const SparsePools& pools, std::int64_t index, const TensorView& dense) {
  const SparseSlot& slot = pools.slots[static_cast<std::size_t>(index)];
  std::int64_t place = pools.table[index];
  for_each_bit(slot.mask, slot.element_count(),
               [&](std::int64_t element) { store(pools.parameter, place++, load(dense, element)); });
}

TensorView dense_scratch(const SparsePools& pools, std::int64_t index, std::span<std::byte> scratch) {
  const SparseSlot& slot = pools.slots[static_cast<std::size_t>(index)];
  const Bytes wanted = slot.element_count() * bytes_of(pools.parameter.dtype);
  ensure(static_cast<Bytes>(scratch.size()) >= wanted, "state: '", slot.name, "' takes ", wanted,
         " bytes when dense, the arena has ", scratch.size(), " to spare");
  return {scratch.data(), pools.parameter.dtype, slot.shape};
}

}  // namespace thimble
