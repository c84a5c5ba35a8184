// What the Winograd kernels for gradients of a convolution's weights are made of.
#pragma once

#include "kernels/cpu/winograd_shape.h"
#include "kernels/cpu/winograd_weight_gradient.h"

namespace thimble::kernels::THIMBLE_ISA {

template <WeightOperands kWhere>
struct WinogradWeightKernel {
  using State = WeightState<kWhere, WinogradWeightPlan>;

  static ConvShape shape_of(const KernelQuery& q) {
    return conv_shape(*q.attributes, q.in[kWhere.source].shape, q.out[0].shape, q.in[kWhere.gradient].shape);
  }
  static WinogradWeightPlan plan_for(const KernelQuery& q, int threads) {
    const SourceNorm norm = kWhere.normalizes ? source_norm(*q.attributes, q.in[kWhere.source]) : SourceNorm{};
    const ConvShape shape = shape_of(q);
    WinogradWeightPlan plan = plan_winograd_weights(shape, threads, norm);
    WinogradWeightPlan usual = plan_winograd_weights(shape, kWinogradThreads, norm);
    for (const GradientPieces& pieces : kGradientPieces) {
      usual.pieces = plan.pieces = pieces;
      if (!is_large_workspace(shape, winograd_weight_workspace(usual), kUsualPart)) break;
    }
    return plan;
  }

  static std::string refuse(const KernelQuery& q) {
    std::string reason = WeightKernel<kWhere>::refuse(q);
    if (reason.empty()) reason = refuse_winograd_types(q, q.in[kWhere.source]);
    if (reason.empty()) reason = refuse_winograd_shape(shape_of(q), kGradientGain);
    if (!reason.empty()) return reason;
    return refuse_winograd_workspace(shape_of(q), winograd_weight_workspace(plan_for(q, kWinogradThreads)));
  }

  static std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
    auto state = std::make_unique<State>(*q.attributes);
    state->plan = plan_for(q, q.threads);
    return state;
  }

  static Bytes workspace(const KernelQuery& q) { return winograd_weight_workspace(plan_for(q, q.threads)); }

  static Status run(const KernelState& base, const Call& call) noexcept {
    const auto& state = static_cast<const State&>(base);
    run_winograd_weights(state.plan, state.asked_by(call));
    return Status::good;
  }
};

}  // namespace thimble::kernels::THIMBLE_ISA
