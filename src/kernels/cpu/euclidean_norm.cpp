// Length of a tensor taken as one vector.
#include "kernels/cpu/square_sum.h"

namespace thimble::kernels::THIMBLE_ISA::euclidean_norm_kernel {
namespace {

Bytes workspace(const KernelQuery& q) { return square_sum_bytes(threads_for(q.in[0].shape.count(), q.threads)); }

Status run(const KernelState&, const Call& call) noexcept {
  const std::int64_t count = call.in[0].shape.count();
  root_of_squares(call, threads_for(count, call.threads), call.out[0], [&](double* own, int thread, int threads) {
    const Range range = part_of(count, thread, threads);
    with_element(call.in[0].dtype, [&](auto element) {
      using T = decltype(element);
      add_squares(own, call.in[0].as<const T>() + range.begin, range.end - range.begin);
    });
  });
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "euclidean_norm",
                           .name = "euclidean_norm",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = no_state,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::euclidean_norm_kernel
