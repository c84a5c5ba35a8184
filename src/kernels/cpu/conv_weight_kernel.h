// What the kernels for gradients of a convolution's weights are made of: they differ in whether x is normalised on the
// way, and in what becomes of the gradient. All end with dy, and before it stand x and, if it has one, its norm.
#pragma once

#include "kernels/cpu/conv_weight_call.h"
#include "kernels/cpu/conv_weight_plan.h"

namespace thimble::kernels::THIMBLE_ISA {

struct WeightOperands {
  bool normalizes = false;
  WeightEnding ending = WeightEnding::stores;
  bool is_matrix = false;  // x and dy are rows of samples: pixels of one long row

  constexpr std::size_t source(std::size_t operands) const { return operands - 2 - (normalizes ? kNormOperands : 0); }
};

// A function of one file, conv2d_grad_weight.cpp, so that the loops are compiled once for all kernels.
void run_weight_gradient(const WeightPlan& plan, const WeightCall& call) noexcept;

// Of a name that the op has checked.
inline const UpdateRule& rule_for(WeightEnding ending, const Attributes& attributes) {
  if (ending == WeightEnding::updates) return *find_rule(attributes.word("rule"));
  return ending == WeightEnding::adds ? kAccumulate : kReplace;
}

// What a kernel keeps between calls, whatever its plan is made of.
template <WeightOperands kWhere, typename Plan>
struct WeightState : KernelState {
  Plan plan;
  UpdateState update;

  explicit WeightState(const Attributes& attributes) : update(rule_for(kWhere.ending, attributes), attributes) {}

  // `run` takes what is asked of the plan.
  template <typename Run>
  void ask(const Call& call, Run&& run) const noexcept {
    const std::size_t source = kWhere.source(call.in.size());
    const UpdateRun ending(update, call);
    run(WeightCall{.x = call.in[source],
                   .dy = call.in.back(),
                   .update = ending,
                   .out = call.out[0],
                   .workspace = call.workspace,
                   .threads = call.threads,
                   .adds = kWhere.ending == WeightEnding::adds,
                   .norm = call.in.subspan(source + 1, kWhere.normalizes ? kNormOperands : 0)});
  }
};

template <WeightOperands kWhere>
struct WeightKernel {
  using State = WeightState<kWhere, WeightPlan>;

  static const Type& source(const KernelQuery& q) { return q.in[kWhere.source(q.in.size())]; }
  static SourceNorm norm(const KernelQuery& q) {
    return kWhere.normalizes ? source_norm(*q.attributes, source(q)) : SourceNorm{};
  }
  static ConvShape shape(const KernelQuery& q) {
    const Shape &x = source(q).shape, &dy = q.in.back().shape;
    return kWhere.is_matrix ? row_shape(x, dy) : conv_shape(*q.attributes, x, q.out[0].shape, dy);
  }

  static std::string refuse(const KernelQuery& q) {
    if (kWhere.is_matrix) return refuse_unstored(q);
    if (kHasPairs && q.in.back().dtype != kUnitDType) return "multiplies pairs of bf16";
    return kWhere.normalizes ? refuse_norm_source(q, kWhere.source(q.in.size()), q.out[0])
                             : refuse_source(q, source(q), q.out[0]);
  }

  static void plan_for(WeightPlan& plan, const KernelQuery& q) {
    plan_weight_gradient(plan, shape(q), source(q), q.in.back(), kWhere.ending, q.out[0].dtype, q.threads, norm(q));
  }

  static std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
    auto state = std::make_unique<State>(*q.attributes);
    plan_for(state->plan, q);
    return state;
  }

  static Bytes workspace(const KernelQuery& q) {
    WeightPlan plan;
    plan_for(plan, q);
    return carve_weight_work(plan, nullptr).bytes;
  }

  static Status run(const KernelState& base, const Call& call) noexcept {
    const auto& state = static_cast<const State&>(base);
    const TensorView& out = call.out[0];
    // A total that stands elsewhere is brought to where it is added to.
    if (kWhere.ending == WeightEnding::adds && state.plan.is_direct && out.data != call.in[0].data)
      std::memcpy(out.data, call.in[0].data, static_cast<std::size_t>(Type{out.dtype, out.shape}.bytes()));
    state.ask(call, [&](const WeightCall& what) { run_weight_gradient(state.plan, what); });
    return Status::good;
  }

  static constexpr Kernel of(std::string_view op) {
    return {.op = op,
            .name = op,
            .isa = kIsa,
            .rank = kUnitRank,
            .pace = kUnitPace,
            .refuse = refuse,
            .workspace = workspace,
            .prepare = prepare,
            .run = run};
  }
};

}  // namespace thimble::kernels::THIMBLE_ISA
