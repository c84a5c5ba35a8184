// Forward convolution, of a tensor as it is or of one that is normalised on the way. Weights (KH, KW, C/groups, O) are
// read as they lie: a row of output channels is what the inner loop wants.
#pragma once

#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/conv_packed.h"

namespace thimble::kernels::THIMBLE_ISA {

struct ForwardState : KernelState {
  GatherPlan plan;
  Activation activation = Activation::none;
};

// Weights that a core's second-level cache does not hold beside all else are fetched panel by panel; pairs have to be
// made.
inline bool packs(const ConvShape& s) {
  return kHasPairs || s.taps() * s.group_channels() * s.out_channels * 4 >= kMiB;
}

inline GatherPlan plan_forward(const KernelQuery& q, const SourceNorm& norm = {}) {
  const ConvShape shape = conv_shape(*q.attributes, q.in[0].shape, q.in[1].shape, q.out[0].shape);
  GatherPlan plan = (packs(shape) ? plan_packed : plan_gather)(shape, false, q.in[0].dtype, norm);
  plan.moments = out_moments(q);
  return plan;
}

inline std::unique_ptr<KernelState> prepare_forward(const KernelQuery& q, const SourceNorm& norm = {}) {
  auto state = std::make_unique<ForwardState>();
  state->plan = plan_forward(q, norm);
  state->activation = activation_of(q);
  return state;
}

inline DepthwiseForward depthwise_forward(const GatherPlan& plan, Activation activation = Activation::none) {
  return {plan.shape, activation, plan.maker.norm, plan.moments};
}

inline Bytes forward_workspace(const KernelQuery& q, const SourceNorm& norm = {}) {
  const GatherPlan plan = plan_forward(q, norm);
  if (plan.shape.is_depthwise()) return depthwise_forward(plan).workspace(q.in[1], q.threads);
  return packs(plan.shape) ? carve_packed(plan, q.threads, nullptr).bytes : q.threads * plan.buffer().elements() * 4;
}

template <typename W>
void run_gather(const GatherPlan& plan, const GatherCall& what) noexcept {
  const Call& call = what.call;
  const ThreadGrid grid = choose_grid(plan.piece_count(), plan.panel_count(), call.threads);
  Shares shares = plan.shares(grid);
  auto* buffers = reinterpret_cast<float*>(call.workspace);
  const ThreadMoments moments = plan.buffer().all_moments(buffers, call.threads);
  moments.clear();
  const auto panel_of = [&](std::int64_t index) {
    GatherPanel panel = panel_at(plan, index);
    panel.weights = call.in[1].as<const W>() + panel.column;
    panel.row = plan.out_channels;
    return panel;
  };
  parallel(grid.rows * grid.columns, [&](int thread, int) {
    gather<W>(plan, what, shares, thread / grid.columns,
              part_of(plan.panel_count(), thread % grid.columns, grid.columns),
              buffers + thread * plan.buffer().elements(), panel_of);
  });
  moments.store_to(call.out);
}

// `norm` are the statistics and parameters of the source's norm, if it has one.
template <bool kNormalizes>
Status run_forward(const KernelState& kernel_state, const Call& call, std::span<const TensorView> norm = {}) noexcept {
  const auto& state = static_cast<const ForwardState&>(kernel_state);
  const ConvShape& shape = state.plan.shape;
  const GatherCall what = {
      call, {.bias = call.in.size() == 3 ? &call.in[2] : nullptr, .activation = state.activation}, norm};
  if (shape.is_depthwise()) {
    depthwise_forward(state.plan, state.activation).run<kNormalizes>(call, norm);
  } else if (packs(shape)) {
    gather_packed(state.plan, what);
  } else {
    with_element(call.in[1].dtype, [&](auto element) {
      if constexpr (sizeof(element) > 0 && !kHasPairs) run_gather<decltype(element)>(state.plan, what);
    });
  }
  return Status::good;
}

}  // namespace thimble::kernels::THIMBLE_ISA
