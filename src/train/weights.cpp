#include "train/weights.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "train/sparse_pools.h"
#include "train/torch_layout.h"

namespace thimble {
namespace {

constexpr std::size_t kMostNamed = 10;

// The slot of a sparse tensor; -1 for a dense one.
std::int64_t slot_of(const StateView& state, std::string_view name) {
  const auto found = std::find(state.sparse_tensors.begin(), state.sparse_tensors.end(), name);
  return found == state.sparse_tensors.end() ? -1 : found - state.sparse_tensors.begin();
}

bool is_torch_counter(std::string_view name) { return name.ends_with("num_batches_tracked"); }

// Elements of `dense`, ours, in PyTorch's order; offset and out are whole elements, as the writer's pieces are.
void copy_in_torch_order(const TensorView& dense, const TorchLayout& layout, Bytes offset, std::span<std::byte> out) {
  const Bytes width = bytes_of(dense.dtype);
  const std::byte* from = dense.as<const std::byte>();
  const std::int64_t first = offset / width, count = static_cast<Bytes>(out.size()) / width;
  layout.for_torch_range(first, count, [&](std::int64_t torch, std::int64_t ours) {
    std::memcpy(out.data() + (torch - first) * width, from + ours * width, static_cast<std::size_t>(width));
  });
}

class Importer {
 public:
  Importer(const SafetensorsFile& file, const StateView& state)
      : file_(file), state_(state), pools_(sparse_pools(state)) {}

  void check() {
    for (const TensorSpec& spec : state_.tensors) check_tensor(spec);
    for (std::int64_t index = 0; index < file_.table().count(); ++index) {
      const StoredTensor stored = file_.table().at(index);
      const bool is_known = std::any_of(state_.tensors.begin(), state_.tensors.end(),
                                        [&](const TensorSpec& spec) { return spec.name == stored.name; });
      if (!is_known && !is_torch_counter(stored.name)) note(stored.name, "is not a tensor of this network");
    }
    require(problem_count_ == 0, file_.path(), ": does not hold this network: ", problems_,
            problem_count_ > kMostNamed ? join_text("; and ", problem_count_ - kMostNamed, " more") : "");
  }

  void take() {
    buffer_.resize(static_cast<std::size_t>(kChunkBytes));
    for (const TensorSpec& spec : state_.tensors) {
      const std::int64_t slot = slot_of(state_, spec.name);
      if (slot < 0) {
        const Program::Persistent& persistent = known_persistent(state_.persistents, spec.name);
        read_tensor(spec, room_for(state_, persistent));
        put_back(state_, persistent);
      } else {
        const TensorView dense = dense_scratch(pools_, slot, state_.scratch);
        read_tensor(spec, dense);
        gather_slot(pools_, slot, dense);
      }
    }
  }

 private:
  void note(std::string_view name, std::string_view problem) {
    if (problem_count_++ >= kMostNamed) return;
    problems_ += join_text(problems_.empty() ? "" : "; ", "'", name, "' ", problem);
  }

  void check_tensor(const TensorSpec& spec) {
    const std::optional<StoredTensor> stored = file_.table().find(spec.name);
    if (!stored) return note(spec.name, "is missing");
    const Shape wanted = TorchLayout(spec.type.shape).shape();
    if (stored->shape != wanted) {
      return note(spec.name, join_text("is ", to_text(stored->shape), ", wanted ", to_text(wanted)));
    }
    if (stored->type != StoredType::f32 && stored->type != StoredType::bf16) {
      note(spec.name, join_text("is ", name_of(stored->type), ", wanted F32 or BF16"));
    }
  }

  void read_tensor(const TensorSpec& spec, const TensorView& dense) {
    const StoredTensor stored = file_.get(spec.name);
    const TorchLayout layout(spec.type.shape);
    const Bytes width = bytes_of(stored.type);
    const TensorView piece{buffer_.data(), stored.type == StoredType::bf16 ? DType::bf16 : DType::f32, {}};
    for (Bytes offset = 0; offset < stored.bytes; offset += kChunkBytes) {
      const Bytes bytes = std::min(kChunkBytes, stored.bytes - offset);
      file_.read(stored, offset, std::span(buffer_).first(static_cast<std::size_t>(bytes)));
      const std::int64_t first = offset / width;
      layout.for_torch_range(first, bytes / width, [&](std::int64_t torch, std::int64_t ours) {
        store(dense, ours, load(piece, torch - first));
      });
    }
  }

  const SafetensorsFile& file_;
  const StateView& state_;
  SparsePools pools_;
  std::vector<std::byte> buffer_;
  std::string problems_;
  std::size_t problem_count_ = 0;
};

}  // namespace

std::vector<TensorToStore> weights_to_store(const StateView& state) {
  std::vector<TensorToStore> tensors;
  for (const TensorSpec& spec : state.tensors) {
    const TorchLayout layout(spec.type.shape);
    const std::int64_t slot = slot_of(state, spec.name);
    if (slot < 0) {
      const Program::Persistent& persistent = known_persistent(state.persistents, spec.name);
      tensors.push_back({spec.name, stored_type(persistent.view.dtype), layout.shape(),
                         [state, &persistent, layout](Bytes offset, std::span<std::byte> out) {
                           // Pieces come front to back, so what was fetched for the first is there for the others.
                           const TensorView dense =
                               offset == 0 ? fetch(state, persistent) : room_for(state, persistent);
                           copy_in_torch_order(dense, layout, offset, out);
                         }});
      continue;
    }
    const DType dtype = get_persistent(state.persistents, "pool/parameter").dtype;
    tensors.push_back(
        {spec.name, stored_type(dtype), layout.shape(), [&state, slot, layout](Bytes offset, std::span<std::byte> out) {
           const SparsePools pools = sparse_pools(state);
           const TensorView dense = dense_scratch(pools, slot, state.scratch);
           if (offset == 0) expand_slot(pools, slot, dense);  // pieces come front to back
           copy_in_torch_order(dense, layout, offset, out);
         }});
  }
  return tensors;
}

void import_weights(const SafetensorsFile& file, const StateView& state) {
  Importer importer(file, state);
  importer.check();
  importer.take();
}

}  // namespace thimble
