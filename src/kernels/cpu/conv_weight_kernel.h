// What the kernels for gradients of a convolution's weights are made of: they differ in where their operands stand, in
// whether x is normalised on the way, and in whether the gradient is added to a running total.
#pragma once

#include <optional>

#include "kernels/cpu/conv_weight_gradient.h"
#include "kernels/cpu/update.h"

namespace thimble::kernels::THIMBLE_ISA {

struct WeightOperands {
  std::size_t source = 0, gradient = 1;
  bool normalizes = false;  // operands of the norm stand behind the source
  bool adds = false;        // to operand 0
};

template <WeightOperands kWhere>
struct WeightKernel {
  struct State : KernelState {
    WeightPlan plan;
    std::optional<UpdateState> update;  // how a total rounds
  };

  static std::string refuse(const KernelQuery& q) {
    if (kHasPairs && q.in[kWhere.gradient].dtype != kUnitDType) return "multiplies pairs of bf16";
    return kWhere.normalizes ? refuse_norm_source(q, kWhere.source, q.out[0])
                             : refuse_source(q, q.in[kWhere.source], q.out[0]);
  }

  static void plan_for(WeightPlan& plan, const KernelQuery& q) {
    const Type& x = q.in[kWhere.source];
    plan_weight_gradient(plan, *q.attributes, x, q.in[kWhere.gradient], q.out[0], q.threads,
                         kWhere.normalizes ? source_norm(*q.attributes, x) : SourceNorm{});
  }

  static std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
    auto state = std::make_unique<State>();
    plan_for(state->plan, q);
    if (kWhere.adds) state->update.emplace(kAccumulate, *q.attributes);
    return state;
  }

  static Bytes workspace(const KernelQuery& q) {
    WeightPlan plan;
    plan_for(plan, q);
    return weight_gradient_workspace(plan);
  }

  static Status run(const KernelState& base, const Call& call) noexcept {
    const auto& state = static_cast<const State&>(base);
    const TensorView& out = call.out[0];
    if (kWhere.adds && out.data != call.in[0].data)
      std::memcpy(out.data, call.in[0].data, static_cast<std::size_t>(Type{out.dtype, out.shape}.bytes()));
    run_weight_gradient(state.plan, {.x = call.in[kWhere.source],
                                     .dy = call.in[kWhere.gradient],
                                     .out = out,
                                     .workspace = call.workspace,
                                     .threads = call.threads,
                                     .adds = kWhere.adds,
                                     .rounding = state.update ? state.update->rounding(*call.scalars) : Rounding{},
                                     .norm = kWhere.normalizes ? call.in.subspan(kWhere.source + 1, kNormOperands)
                                                               : std::span<const TensorView>()});
    return Status::good;
  }
};

}  // namespace thimble::kernels::THIMBLE_ISA
