// Gradient of a convolution with respect to its weights by Winograd's tiles.
#include "kernels/cpu/winograd_weight_gradient.h"
#include "kernels/cpu/winograd_weight_kernel.h"

namespace thimble::kernels::THIMBLE_ISA {

void run_winograd_weights(const WinogradWeightPlan& plan, const WeightCall& call) noexcept {
  const bool shares_tiles = plan.tile_parts > 1;
  if (!shares_tiles) {
    parallel(plan.threads(), [&](int thread, int) {
      const WinogradBuffers buffers(plan, call.workspace, thread);
      for_chunks(plan, plan.part(plan.channels, thread / plan.parts.columns, plan.parts.rows),
                 plan.part(plan.columns, thread % plan.parts.columns, plan.parts.columns),
                 [&](const WeightChunk& chunk) {
                   sum_chunk(plan, call, buffers, chunk, {0, plan.grid.count()});
                   finish_chunk(plan, call, buffers.sums, 1, chunk, {0, chunk.height()});
                 });
    });
    return;
  }
  for_chunks(plan, {0, plan.channels}, {0, plan.columns}, [&](const WeightChunk& chunk) {
    parallel(plan.tile_parts, [&](int thread, int) {
      sum_chunk(plan, call, WinogradBuffers(plan, call.workspace, thread), chunk,
                part_of(plan.grid.count(), thread, plan.tile_parts));
    });
    const float* sums = WinogradBuffers(plan, call.workspace, 0).sums;
    parallel_for(call.threads, chunk.height(), [&](std::int64_t begin, std::int64_t end) {
      finish_chunk(plan, call, sums, plan.tile_parts, chunk, {begin, end});
    });
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA

namespace thimble::kernels::THIMBLE_ISA::winograd_conv2d_grad_weight_kernel {

extern constinit const Kernel def =
    WinogradWeightKernel<WeightOperands{}>::of("conv2d_grad_weight", "winograd_conv2d_grad_weight");

}  // namespace thimble::kernels::THIMBLE_ISA::winograd_conv2d_grad_weight_kernel
