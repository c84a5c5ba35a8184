// Convolution. Weights (KH, KW, C/groups, O) are read as they lie: a row of output channels is what the inner loop
// wants.
#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/conv_packed.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_kernel {
namespace {

struct State : KernelState {
  GatherPlan plan;
  Activation activation = Activation::none;
};

// Weights that a core's second-level cache does not hold are fetched panel by panel.
bool packs(const ConvShape& s) { return s.taps() * s.group_channels() * s.out_channels * 4 > kMiB; }

GatherPlan plan_of(const KernelQuery& q) {
  const ConvShape shape = conv_shape(*q.attributes, q.in[0].shape, q.in[1].shape, q.out[0].shape);
  return (packs(shape) ? plan_packed : plan_gather)(shape, false, q.in[0].dtype);
}

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->plan = plan_of(q);
  state->activation = activation_of(q);
  return state;
}

Bytes workspace(const KernelQuery& q) {
  const GatherPlan plan = plan_of(q);
  if (plan.shape.is_depthwise()) return 0;
  return packs(plan.shape) ? carve_packed(plan, q.threads, nullptr).bytes : q.threads * plan.buffer_elements() * 4;
}

template <typename W>
void run_gather(const State& state, const Call& call, const Ending& ending) noexcept {
  const GatherPlan& plan = state.plan;
  const std::int64_t rows = plan.shape.batch * plan.row_count(), panels = plan.panel_count();
  const ThreadGrid grid = choose_grid(rows, panels, call.threads);
  const auto panel_of = [&](std::int64_t index) {
    GatherPanel panel = panel_at(plan, index);
    panel.weights = call.in[1].as<const W>() + panel.column;
    panel.row = plan.out_channels;
    return panel;
  };
  parallel(grid.rows * grid.columns, [&](int thread, int) {
    float* buffer = reinterpret_cast<float*>(call.workspace) + thread * plan.buffer_elements();
    gather<W>(plan, call, ending, part_of(rows, thread / grid.columns, grid.rows),
              part_of(panels, thread % grid.columns, grid.columns), buffer, panel_of);
  });
}

Status run(const KernelState& kernel_state, const Call& call) noexcept {
  const State& state = static_cast<const State&>(kernel_state);
  const ConvShape& shape = state.plan.shape;
  const Ending ending = {.bias = call.in.size() == 3 ? &call.in[2] : nullptr, .activation = state.activation};
  if (shape.is_depthwise()) {
    depthwise_forward(shape, state.activation, call);
  } else if (packs(shape)) {
    gather_packed(state.plan, call, ending);
  } else {
    with_element(call.in[1].dtype, [&](auto element) { run_gather<decltype(element)>(state, call, ending); });
  }
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "conv2d",
                           .name = "conv2d",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_kernel
