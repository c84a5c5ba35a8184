// Elementwise rectifier for f32 and bf16.
#include "base/parallel.h"
#include "kernels/kernel.h"

#include "kernels/cpu/simd.h"

namespace thimble::kernels::THIMBLE_ISA::relu_kernel {
namespace {

std::string refuse(const KernelQuery& q) {
  const bool served = q.in[0].dtype == DType::f32 || q.in[0].dtype == DType::bf16;
  return served && q.in[0].dtype == q.out[0].dtype ? "" : "serves f32 and bf16 only";
}

struct State : KernelState {};
std::unique_ptr<KernelState> prepare(const KernelQuery&) { return std::make_unique<State>(); }

template <typename T>
void apply(const T* x, T* y, std::int64_t begin, std::int64_t end) {
  for_vectors(
      begin, end, [&](std::int64_t i) { store(y + i, relu(load(x + i))); },
      [&](std::int64_t i, int lanes) { store_first(y + i, relu(load_first(x + i, lanes)), lanes); });
}

Status run(const KernelState&, const Call& call) noexcept {
  const TensorView& x = call.in[0];
  parallel_for(call.threads, x.shape.count(), [&](std::int64_t begin, std::int64_t end) {
    if (x.dtype == DType::f32) {
      apply(x.as<const float>(), call.out[0].as<float>(), begin, end);
    } else {
      apply(x.as<const BFloat16>(), call.out[0].as<BFloat16>(), begin, end);
    }
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "relu",
                           .name = "relu",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::relu_kernel
