// The dense copy of one sparse tensor. Threads own whole bytes of the mask.
#include "kernels/cpu/sparse.h"

namespace thimble::kernels::THIMBLE_ISA::sparse_to_dense_kernel {
namespace {

struct State : KernelState {
  std::int64_t slot = 0;
};
std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->slot = q.attributes->integer("slot");
  return state;
}

// dense[elements[k]] = values[k]
void scatter_block(const TensorView& dense, const std::int64_t* elements, std::int64_t count, const float* values) {
  with_element(dense.dtype, [&](auto element) {
    using T = decltype(element);
    T* to = dense.as<T>();
    for (std::int64_t k = 0; k < count; ++k) {
      if constexpr (std::is_same_v<T, float>) {
        to[elements[k]] = values[k];
      } else {
        to[elements[k]] = to_bfloat16(values[k]);
      }
    }
  });
}

Status run(const KernelState& state, const Call& call) noexcept {
  const TensorView &values = call.in[0], &dense = call.out[0];
  const auto* bits = call.in[1].as<const std::uint8_t>();
  const Range slot = slot_of(call.in[2], static_cast<const State&>(state).slot, values.shape.count());
  const std::int64_t count = dense.shape.count(), width = bytes_of(dense.dtype);
  parallel_for(threads_for(count, call.threads), (count + 7) / 8, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t first = begin * 8, last = smaller(end * 8, count);
    std::memset(dense.as<std::byte>() + first * width, 0, static_cast<std::size_t>((last - first) * width));
    alignas(64) float buffer[kBlock];
    each_run(bits, {begin, end}, count, slot,
             [&](std::int64_t place, const std::int64_t* elements, std::int64_t length) {
               scatter_block(dense, elements, length, open_block(values, place, length, buffer));
             });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "sparse_to_dense",
                           .name = "sparse_to_dense",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::sparse_to_dense_kernel
