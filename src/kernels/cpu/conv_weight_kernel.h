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

// What a kernel keeps between calls, whatever its plan is made of.
template <WeightOperands kWhere, typename Plan>
struct WeightState : KernelState {
  Plan plan;
  std::optional<UpdateState> update;  // how a total rounds

  explicit WeightState(const Attributes& attributes) {
    if (kWhere.adds) update.emplace(kAccumulate, attributes);
  }

  // What is asked of the plan; a total that stands elsewhere is brought to its place first.
  WeightCall asked_by(const Call& call) const noexcept {
    const TensorView& out = call.out[0];
    if (kWhere.adds && out.data != call.in[0].data)
      std::memcpy(out.data, call.in[0].data, static_cast<std::size_t>(Type{out.dtype, out.shape}.bytes()));
    return {
        .x = call.in[kWhere.source],
        .dy = call.in[kWhere.gradient],
        .out = out,
        .workspace = call.workspace,
        .threads = call.threads,
        .adds = kWhere.adds,
        .rounding = update ? update->rounding(*call.scalars) : Rounding{},
        .norm = kWhere.normalizes ? call.in.subspan(kWhere.source + 1, kNormOperands) : std::span<const TensorView>()};
  }
};

template <WeightOperands kWhere>
struct WeightKernel {
  using State = WeightState<kWhere, WeightPlan>;

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
    auto state = std::make_unique<State>(*q.attributes);
    plan_for(state->plan, q);
    return state;
  }

  static Bytes workspace(const KernelQuery& q) {
    WeightPlan plan;
    plan_for(plan, q);
    return weight_gradient_workspace(plan);
  }

  static Status run(const KernelState& base, const Call& call) noexcept {
    const auto& state = static_cast<const State&>(base);
    run_weight_gradient(state.plan, state.asked_by(call));
    return Status::good;
  }
};

}  // namespace thimble::kernels::THIMBLE_ISA
