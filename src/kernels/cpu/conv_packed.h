// Gathering convolution from a copy of the weights, panel by panel: for weights that lie the wrong way round, and for
// those so large that their rows are scattered over many pages. Only a few panels are copied at a time.
#pragma once

#include "kernels/cpu/conv_gather.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr Bytes kPackedBytes = 256 * kKiB;  // of weights held at once, unless one panel is larger
constexpr Bytes kFewPacked = 96 * kKiB;     // the same beside a band that is kept small
constexpr Bytes kMostPacked = 640 * kKiB;   // and beside one that has to be made anew for every part of the weights,
constexpr std::int64_t kPackedPart = 4;     // where the source is this many times as large

inline std::int64_t packed_row(const GatherPlan& plan) { return plan.out_group > kLanes ? plan.panel_columns : kLanes; }
inline std::int64_t packed_elements(const GatherPlan& plan) {
  return plan.shape.taps() * plan.depth() * packed_row(plan);
}
inline Bytes most_packed(const GatherPlan& plan) {
  if (!kHasPairs) {
    const bool is_small = plan.maker.most < kConvertedBytes || plan.panel_columns < kTileColumns;
    return is_small ? kFewPacked : kPackedBytes;
  }
  // A panel takes half the bytes. Bands are made anew for the next panels, sources that are read in place are not.
  if (plan.outputs() <= kFewOutputs) return kFewPacked / kUnitElements;
  if (plan.maker.is_direct) return kPackedBytes / kUnitElements;
  return larger(kPackedBytes, smaller(kMostPacked, plan.source_bytes() / kPackedPart));
}
inline std::int64_t panels_at_once(const GatherPlan& plan) {
  const std::int64_t count = smaller(plan.panel_count(), larger(1, most_packed(plan) / 4 / packed_elements(plan)));
  if (!kHasPairs) return count;
  return divide_up(plan.panel_count(), divide_up(plan.panel_count(), count));  // 4 panels are 2 + 2, not 3 + 1
}

// A wide panel is halved where it serves few outputs.
inline GatherPlan plan_packed(const ConvShape& s, bool is_backward, DType source, const SourceNorm& norm = {}) {
  GatherPlan plan = plan_gather(s, is_backward, source, norm);
  if (packed_elements(plan) * 4 > kFewPacked / kUnitElements && plan.outputs() <= kFewOutputs)
    plan.panel_columns = kLanes;
  return plan;
}

struct PackedWork {
  Unit* packed = nullptr;    // (panels, taps, depth, packed_row)
  float* buffers = nullptr;  // (threads, buffer)
  Bytes bytes = 0;
};

inline PackedWork carve_packed(const GatherPlan& plan, int threads, std::byte* base) {
  Carver carver(base);
  PackedWork work;
  work.packed = carver.take<Unit>(panels_at_once(plan) * packed_elements(plan));
  work.buffers = carver.take<float>(threads * plan.buffer().elements());
  work.bytes = carver.used();
  return work;
}

// The weights (depth, columns) of some source channels and one tap for one panel. Columns beyond the panel hold
// anything, and what is made of them is not stored.
template <typename W>
void pack_tap(const GatherPlan& plan, const GatherPanel& panel, std::int64_t tap, Range source, const W* w,
              Unit* packed) noexcept {
  const std::int64_t outs = plan.shape.out_channels, row = packed_row(plan), count = source.end - source.begin;
  packed += source.begin / kUnitElements * row;
  if (!plan.is_backward()) {  // w[tap, c, panel.column + n]
    w += (tap * plan.source_group + source.begin) * outs + panel.column;
    join_rows(packed, row, w, outs, count, panel.columns);
    return;
  }
  const std::int64_t first_channel = panel.column - panel.group * plan.out_group;  // w[tap, first_channel + n, o]
  w += (tap * plan.out_group + first_channel) * outs + panel.group * plan.source_group + source.begin;
  transpose_to_units(packed, row, w, outs, panel.columns, count);
}

// Calls body(tap) for all taps of the kernel in the order in which the phases read them.
template <typename Body>
void for_taps(const GatherPlan& plan, Body&& body) {
  const Axis& row_axis = plan.maker.rows;
  const Axis& column_axis = plan.maker.columns;
  for (std::int64_t phase = 0; phase < row_axis.period * column_axis.period; ++phase) {
    const AxisPhase rows = phase_of(row_axis, phase / column_axis.period);
    const AxisPhase columns = phase_of(column_axis, phase % column_axis.period);
    for (std::int64_t i = 0; i < rows.taps; ++i) {
      for (std::int64_t j = 0; j < columns.taps; ++j) {
        body((rows.first_tap + i * rows.tap_step) * column_axis.kernel + columns.first_tap + j * columns.tap_step);
      }
    }
  }
}

// Threads share out panels, taps and parts of the source channels.
template <typename W>
void pack_panels(const GatherPlan& plan, const Call& call, Range panels, Unit* packed) noexcept {
  constexpr std::int64_t kChannels = 64;
  const std::int64_t taps = plan.shape.taps(), parts = divide_up(plan.source_group, kChannels);
  parallel_for(call.threads, (panels.end - panels.begin) * taps * parts, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin / (taps * parts); index * taps * parts < end; ++index) {
      std::int64_t place = index * taps;
      for_taps(plan, [&](std::int64_t tap) {
        const std::int64_t first = larger(begin, place * parts), last = smaller(end, (place + 1) * parts);
        if (first < last) {
          const Range source = {(first - place * parts) * kChannels,
                                smaller((last - place * parts) * kChannels, plan.source_group)};
          pack_tap(plan, panel_at(plan, panels.begin + index), tap, source, call.in[1].as<const W>(),
                   packed + place * plan.depth() * packed_row(plan));
        }
        ++place;
      });
    }
  });
}

inline void gather_packed(const GatherPlan& plan, const GatherCall& what) noexcept {
  const Call& call = what.call;
  const PackedWork work = carve_packed(plan, call.threads, call.workspace);
  const std::int64_t panels = plan.panel_count(), step = panels_at_once(plan);
  const ThreadMoments moments = plan.buffer().all_moments(work.buffers, call.threads);
  moments.clear();
  for (std::int64_t first = 0; first < panels; first += step) {
    const Range chosen = {first, smaller(first + step, panels)};
    with_element(call.in[1].dtype,
                 [&](auto element) { pack_panels<decltype(element)>(plan, call, chosen, work.packed); });
    const ThreadGrid grid = choose_grid(plan.piece_count(), chosen.end - chosen.begin, call.threads);
    Shares shares = plan.shares(grid);
    const auto panel_of = [&](std::int64_t index) {
      GatherPanel panel = panel_at(plan, index);
      panel.weights = work.packed + (index - first) * packed_elements(plan);
      panel.row = packed_row(plan);
      return panel;
    };
    parallel(grid.rows * grid.columns, [&](int thread, int) {
      const Range part = part_of(chosen.end - chosen.begin, thread % grid.columns, grid.columns);
      gather<Unit>(plan, what, shares, thread / grid.columns, {first + part.begin, first + part.end},
                   work.buffers + thread * plan.buffer().elements(), panel_of);
    });
  }
  moments.store_to(call.out);
}

}  // namespace thimble::kernels::THIMBLE_ISA
