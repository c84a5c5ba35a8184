// Persistent values in plain vectors, as a bound program would hold them, without compiling anything.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "passes/pass.h"
#include "support/tensor.h"
#include "train/bits.h"
#include "train/sparse_pools.h"
#include "train/state_view.h"

namespace thimble::testing {

class StateFixture {
 public:
  // With a sparsity, candidates are slots of the pools parameter and those named.
  explicit StateFixture(std::vector<TensorSpec> specs, double sparsity = 0, std::vector<std::string> states = {},
                        DType pool_dtype = DType::f32)
      : specs_(std::move(specs)), scratch_(1 << 20) {
    std::int64_t capacity = 0;
    for (const TensorSpec& spec : specs_) {
      if (sparsity == 0 || !spec.sparse_candidate) {
        add(spec.name, Role::parameter, spec.type);
        continue;
      }
      sparse_.push_back(spec.name);
      capacity += sparse_nonzeros(spec.type.shape.count(), sparsity);
      add("mask/" + spec.name, Role::structure, {DType::u8, {mask_bytes(spec.type.shape.count())}});
    }
    if (sparse_.empty()) return;
    add("sparse/table", Role::structure, {DType::i32, {static_cast<std::int64_t>(sparse_.size()) + 1}});
    add("pool/parameter", Role::parameter, {pool_dtype, {capacity}});
    for (const std::string& state : states) add("pool/" + state, Role::optimizer, {pool_dtype, {capacity}});
  }

  StateView state() { return {persistents_, specs_, sparse_, scratch_}; }
  SparsePools pools() { return sparse_pools(state()); }
  std::vector<double> values(const std::string& name) const {
    for (const auto& [known, tensor] : tensors_) {
      if (known == name) return tensor.values();
    }
    return {};
  }
  std::span<float> pool(const std::string& name) {
    const TensorView view = get_persistent(persistents_, "pool/" + name);
    return {view.as<float>(), static_cast<std::size_t>(view.shape.count())};
  }
  // The slot's values of any pool by position, zero where there is none.
  std::vector<double> dense_values(std::int64_t slot, const std::string& pool_name = "parameter") {
    const SparsePools sparse = pools();
    const SparseSlot& place = sparse.slots[static_cast<std::size_t>(slot)];
    const TensorView view = get_persistent(persistents_, "pool/" + pool_name);
    std::vector<double> result(static_cast<std::size_t>(place.element_count()), 0.0);
    std::int64_t next = sparse.table[slot];
    for (std::int64_t e = 0; e < place.element_count(); ++e) {
      if (bit_at(place.mask, e)) result[static_cast<std::size_t>(e)] = load(view, next++);
    }
    return result;
  }
  std::vector<bool> positions(std::int64_t slot) {
    const SparsePools sparse = pools();
    const SparseSlot& place = sparse.slots[static_cast<std::size_t>(slot)];
    std::vector<bool> result;
    for (std::int64_t e = 0; e < place.element_count(); ++e) result.push_back(bit_at(place.mask, e));
    return result;
  }

 private:
  void add(const std::string& name, Role role, const Type& type) {
    tensors_.emplace_back(name, Tensor(type));
    persistents_.push_back({name, role, tensors_.back().second.view()});
  }

  std::vector<TensorSpec> specs_;
  std::vector<std::string> sparse_;
  std::deque<std::pair<std::string, Tensor>> tensors_;  // never moves what it holds
  std::vector<Program::Persistent> persistents_;
  std::vector<std::byte> scratch_;
};

}  // namespace thimble::testing
