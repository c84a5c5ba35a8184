// Gradient of a convolution with respect to its input: a gather from dy with the weights transposed, a few panels of
// columns of dx at a time so that the transposed copy stays small.
#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/conv_gather.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_grad_input_kernel {
namespace {

constexpr Bytes kPackedBytes = 256 * kKiB;  // of transposed weights held at once, unless one panel is larger

struct State : KernelState {
  GatherPlan plan;
};

GatherPlan plan_of(const KernelQuery& q) {
  return plan_gather(conv_shape(*q.attributes, q.out[0].shape, q.in[1].shape, q.in[0].shape), true, q.in[0].dtype);
}

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto state = std::make_unique<State>();
  state->plan = plan_of(q);
  return state;
}

std::int64_t packed_row(const GatherPlan& plan) { return plan.out_group > kLanes ? kTileColumns : kLanes; }
std::int64_t packed_elements(const GatherPlan& plan) {
  return plan.shape.taps() * plan.source_group * packed_row(plan);
}
std::int64_t panels_at_once(const GatherPlan& plan) {
  return smaller(plan.panel_count(), larger(1, kPackedBytes / 4 / packed_elements(plan)));
}

struct Work {
  float* packed = nullptr;  // (panels, taps, source_group, packed_row)
  float* buffers = nullptr;
  Bytes bytes = 0;
};

Work carve(const GatherPlan& plan, int threads, std::byte* base) {
  Carver carver(base);
  Work work;
  work.packed = carver.take<float>(panels_at_once(plan) * packed_elements(plan));
  work.buffers = carver.take<float>(threads * plan.buffer_elements());
  work.bytes = carver.used();
  return work;
}

Bytes workspace(const KernelQuery& q) {
  const GatherPlan plan = plan_of(q);
  return plan.shape.is_depthwise() ? 0 : carve(plan, q.threads, nullptr).bytes;
}

// packed[o, c] = w[tap, c, o] for one tap; columns beyond the panel are never read.
template <typename W>
void pack_tap(const GatherPlan& plan, const GatherPanel& panel, std::int64_t tap, const W* w, float* packed) noexcept {
  const std::int64_t outs = plan.shape.out_channels, row = packed_row(plan);
  const std::int64_t first = tap * plan.out_group + panel.column - panel.group * plan.out_group;
  w += first * outs + panel.group * plan.source_group;
  transpose_to_f32(packed, row, w, outs, panel.columns, plan.source_group);
}

// Calls body(tap) for all taps of the kernel in the order in which the phases read them.
template <typename Body>
void for_taps(const GatherPlan& plan, Body&& body) {
  const Axis& row_axis = plan.maker.rows;
  const Axis& column_axis = plan.maker.columns;
  for (std::int64_t phase = 0; phase < row_axis.period * column_axis.period; ++phase) {
    const AxisPhase rows = backward_phase(row_axis, phase / column_axis.period);
    const AxisPhase columns = backward_phase(column_axis, phase % column_axis.period);
    for (std::int64_t i = 0; i < rows.taps; ++i) {
      for (std::int64_t j = 0; j < columns.taps; ++j) {
        body((rows.first_tap + i * rows.tap_step) * column_axis.kernel + columns.first_tap + j * columns.tap_step);
      }
    }
  }
}

template <typename W>
void pack(const GatherPlan& plan, const Call& call, Range panels, float* packed) noexcept {
  const std::int64_t taps = plan.shape.taps();
  parallel_for(call.threads, (panels.end - panels.begin) * taps, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin / taps; index * taps < end; ++index) {
      std::int64_t place = index * taps;
      for_taps(plan, [&](std::int64_t tap) {
        if (place >= begin && place < end) {
          pack_tap(plan, panel_at(plan, panels.begin + index), tap, call.in[1].as<const W>(),
                   packed + place * plan.source_group * packed_row(plan));
        }
        ++place;
      });
    }
  });
}

void run_gather(const GatherPlan& plan, const Call& call) noexcept {
  const Work work = carve(plan, call.threads, call.workspace);
  const std::int64_t rows = plan.shape.batch * plan.row_count(), panels = plan.panel_count(),
                     step = panels_at_once(plan);
  for (std::int64_t first = 0; first < panels; first += step) {
    const Range chosen = {first, smaller(first + step, panels)};
    with_element(call.in[1].dtype, [&](auto element) { pack<decltype(element)>(plan, call, chosen, work.packed); });
    const ThreadGrid grid = choose_grid(rows, chosen.end - chosen.begin, call.threads);
    const auto panel_of = [&](std::int64_t index) {
      GatherPanel panel = panel_at(plan, index);
      panel.weights = work.packed + (index - first) * packed_elements(plan);
      panel.row = packed_row(plan);
      return panel;
    };
    parallel(grid.rows * grid.columns, [&](int thread, int) {
      const Range part = part_of(chosen.end - chosen.begin, thread % grid.columns, grid.columns);
      gather<float>(plan, call, {}, part_of(rows, thread / grid.columns, grid.rows),
                    {first + part.begin, first + part.end}, work.buffers + thread * plan.buffer_elements(), panel_of);
    });
  }
}

Status run(const KernelState& state, const Call& call) noexcept {
  const GatherPlan& plan = static_cast<const State&>(state).plan;
  if (plan.shape.is_depthwise()) {
    depthwise_grad_input(plan.shape, call);
  } else {
    run_gather(plan, call);
  }
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "conv2d_grad_input",
                           .name = "conv2d_grad_input",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_grad_input_kernel
