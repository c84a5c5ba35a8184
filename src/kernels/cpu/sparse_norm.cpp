// Length of a sparse tensor's gradient, at the positions that exist.
#include "kernels/cpu/sparse_update.h"
#include "kernels/cpu/square_sum.h"

namespace thimble::kernels::THIMBLE_ISA::sparse_norm_kernel {
namespace {

constexpr std::int64_t kAnyCapacity = std::int64_t{1} << 40;  // a dense gradient: only the slot's size matters

struct State : KernelState {
  std::int64_t slot = 0;
  bool is_pooled = false;
};

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->slot = q.attributes->integer("slot");
  state->is_pooled = q.in[0].layout == Layout::pooled;
  return state;
}

// By the mask, which both forms have.
int threads_of(const Shape& mask, int threads) { return threads_for(mask.count() * 8, threads); }

Bytes workspace(const KernelQuery& q) { return square_sum_bytes(threads_of(q.in[1].shape, q.threads)); }

Status run(const KernelState& base, const Call& call) noexcept {
  const auto& state = static_cast<const State&>(base);
  const TensorView &gradient = call.in[0], &mask = call.in[1];
  const std::int64_t bytes = mask.shape.count(), elements = state.is_pooled ? bytes * 8 : gradient.shape.count();
  const Range slot = slot_of(call.in[2], state.slot, state.is_pooled ? gradient.shape.count() : kAnyCapacity);
  root_of_squares(call, threads_of(mask.shape, call.threads), call.out[0], [&](double* own, int thread, int threads) {
    alignas(64) float buffer[kBlock];
    each_run(mask.as<const std::uint8_t>(), part_of(bytes, thread, threads), elements, slot,
             [&](std::int64_t place, const std::int64_t* indices, std::int64_t length) {
               const float* values = buffer;
               if (state.is_pooled) {
                 values = open_block(gradient, place, length, buffer);
               } else {
                 gather_block(gradient, indices, length, buffer);
               }
               add_squares(own, values, length);
             });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "sparse_norm",
                           .name = "sparse_norm",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::sparse_norm_kernel
