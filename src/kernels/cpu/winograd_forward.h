// Forward convolution by Winograd's tiles, of a tensor as it is or of one that is normalised on the way.
#pragma once

#include "kernels/cpu/winograd_gather.h"
#include "kernels/cpu/winograd_shape.h"

namespace thimble::kernels::THIMBLE_ISA {

struct WinogradForward : KernelState {
  WinogradPlan plan;
  Activation activation = Activation::none;
};

// Queries and calls are those of a convolution without a norm.
inline ConvShape winograd_forward_shape(const KernelQuery& q) {
  return conv_shape(*q.attributes, q.in[0].shape, q.in[1].shape, q.out[0].shape);
}

// Of source and output of one sample: the workspace would outweigh all else that smaller maps need.
constexpr std::int64_t kLeastForwardElements = 8192;

// Never by the size of the batch: rectifiers would see other last digits in a microbatch than in a batch, and now and
// then fall on the other side of zero. Gradients only differ as sums do.
inline std::string refuse_winograd_forward(const KernelQuery& q) {
  const ConvShape s = winograd_forward_shape(q);
  std::string reason = refuse_winograd_types(q, q.in[0]);
  if (reason.empty()) reason = refuse_winograd_shape(s, kGatherGain);
  if (!reason.empty()) return reason;
  return refuse_unless(s.height * s.width * (s.channels + s.out_channels) >= kLeastForwardElements,
                       "would need too much workspace for so small maps");
}

// Moments take workspace of their own: which pieces a map is worked on in does not depend on them.
inline WinogradPlan plan_winograd_forward(const KernelQuery& q, const SourceNorm& norm) {
  WinogradPlan plan = plan_winograd(winograd_forward_shape(q), false, norm);
  plan.moments = out_moments(q);
  return plan;
}

inline std::unique_ptr<KernelState> prepare_winograd_forward(const KernelQuery& q, const SourceNorm& norm = {}) {
  auto state = std::make_unique<WinogradForward>();
  state->plan = plan_winograd_forward(q, norm);
  state->activation = activation_of(q);
  return state;
}

inline Bytes winograd_forward_workspace(const KernelQuery& q, const SourceNorm& norm = {}) {
  return carve_winograd(plan_winograd_forward(q, norm), q.threads, nullptr).bytes;
}

inline Status run_winograd_forward(const KernelState& kernel_state, const Call& call,
                                   std::span<const TensorView> norm = {}) noexcept {
  const auto& state = static_cast<const WinogradForward&>(kernel_state);
  run_winograd(state.plan,
               {call, {.bias = call.in.size() == 3 ? &call.in[2] : nullptr, .activation = state.activation}, norm});
  return Status::good;
}

}  // namespace thimble::kernels::THIMBLE_ISA
