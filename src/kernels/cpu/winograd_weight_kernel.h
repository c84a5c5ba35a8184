// What the Winograd kernels for gradients of a convolution's weights are made of.
#pragma once

#include "kernels/cpu/conv_weight_kernel.h"
#include "kernels/cpu/winograd_shape.h"
#include "kernels/cpu/winograd_weight_plan.h"

namespace thimble::kernels::THIMBLE_ISA {

// A function of one file, winograd_conv2d_grad_weight.cpp.
void run_winograd_weights(const WinogradWeightPlan& plan, const WeightCall& call) noexcept;

template <WeightOperands kWhere>
struct WinogradWeightKernel {
  using State = WeightState<kWhere, WinogradWeightPlan>;
  using Direct = WeightKernel<kWhere>;

  static WinogradWeightPlan plan_for(const KernelQuery& q, int threads) {
    const SourceNorm norm = Direct::norm(q);
    const ConvShape shape = Direct::shape(q);
    WinogradWeightPlan plan = plan_winograd_weights(shape, threads, norm);
    WinogradWeightPlan usual = plan_winograd_weights(shape, kWinogradThreads, norm);
    for (const GradientPieces& pieces : kGradientPieces) {
      usual.pieces = plan.pieces = pieces;
      if (!is_large_workspace(shape, winograd_weight_workspace(usual), kUsualPart)) break;
    }
    return plan;
  }

  static std::string refuse(const KernelQuery& q) {
    std::string reason = Direct::refuse(q);
    if (reason.empty()) reason = refuse_winograd_types(q, Direct::source(q));
    if (reason.empty()) reason = refuse_winograd_shape(Direct::shape(q), kGradientGain);
    if (!reason.empty()) return reason;
    return refuse_winograd_workspace(Direct::shape(q), winograd_weight_workspace(plan_for(q, kWinogradThreads)));
  }

  static std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
    auto state = std::make_unique<State>(*q.attributes);
    state->plan = plan_for(q, q.threads);
    return state;
  }

  static Bytes workspace(const KernelQuery& q) { return winograd_weight_workspace(plan_for(q, q.threads)); }

  static Status run(const KernelState& base, const Call& call) noexcept {
    const auto& state = static_cast<const State&>(base);
    state.ask(call, [&](const WeightCall& what) { run_winograd_weights(state.plan, what); });
    return Status::good;
  }

  static constexpr Kernel of(std::string_view op, std::string_view name) {
    return {.op = op,
            .name = name,
            .isa = kIsa,
            .rank = kWinogradRank,
            .pace = kGradientPace,
            .refuse = refuse,
            .workspace = workspace,
            .prepare = prepare,
            .run = run};
  }
};

}  // namespace thimble::kernels::THIMBLE_ISA
