// Convolution as a gather: every output is the sum over taps and source channels of source * weight. Forward and the
// gradient of the input are both of this form; they differ in the axes (conv_shape.h) and in where the weights of a tap
// lie.
#pragma once

#include "kernels/cpu/conv_band.h"
#include "kernels/cpu/conv_buffer.h"

namespace thimble::kernels::THIMBLE_ISA {

struct GatherPlan {
  ConvShape shape;
  BandMaker maker;
  BandSize band;
  std::int64_t source_group = 0, out_group = 0;  // channels a group
  std::int64_t out_channels = 0;
  std::int64_t panel_columns = kTileColumns;
  OutMoments moments = {};

  bool is_backward() const { return maker.rows.is_backward; }
  std::int64_t outputs() const { return shape.batch * maker.rows.out * maker.columns.out; }
  Bytes source_bytes() const {
    return shape.batch * maker.rows.source * maker.columns.source * maker.channels * bytes_of(kUnitDType);
  }
  std::int64_t depth() const { return units_of(source_group); }  // units of a tap
  std::int64_t row_count() const { return maker.rows.end - maker.rows.begin; }
  // Long rows are worked on in several pieces, each alone: these, or else rows, are what threads share out.
  std::int64_t row_pieces() const { return divide_up(maker.columns.end - maker.columns.begin, band.columns); }
  std::int64_t piece_count() const { return shape.batch * row_count() * row_pieces(); }
  std::int64_t pieces_together() const {
    if (row_pieces() > 1) return 1;
    return row_count() % band.rows == 0 ? band.rows : row_count();
  }
  // The rows from a piece on that are worked on together, or the piece.
  BandBlock block_of(std::int64_t piece, std::int64_t end) const {
    const std::int64_t row = piece / row_pieces(), inside = row % row_count();
    const std::int64_t most = row_pieces() > 1 ? 1 : smaller(band.rows, end - piece);
    const std::int64_t column = maker.columns.begin + piece % row_pieces() * band.columns;
    return {.first_image = row / row_count(),
            .rows = {maker.rows.begin + inside, maker.rows.begin + smaller(inside + most, row_count())},
            .columns = {column, smaller(column + band.columns, maker.columns.end)},
            .channels = {}};
  }
  Shares shares(const ThreadGrid& grid) const {
    return {piece_count(), grid.rows, pieces_together(), grid.columns > 1 || moments.exists()};
  }
  std::int64_t group_panels() const { return divide_up(out_group, panel_columns); }
  std::int64_t panel_count() const { return shape.groups * group_panels(); }
  GatherBuffer buffer() const {
    return {round_up(maker.elements(band.rows, band.columns, source_group), 16), maker.norm, moments};
  }
};

inline GatherPlan plan_gather(const ConvShape& shape, bool is_backward, DType source, const SourceNorm& norm = {}) {
  const ConvShape s = with_long_rows(shape);
  const auto axis = is_backward ? backward_axis : forward_axis;
  GatherPlan plan;
  plan.shape = s;
  plan.source_group = is_backward ? s.group_outs() : s.group_channels();
  plan.out_group = is_backward ? s.group_channels() : s.group_outs();
  plan.out_channels = is_backward ? s.channels : s.out_channels;
  BandMaker& maker = plan.maker;
  maker.rows =
      is_backward ? axis(s, s.out_height, s.height, s.kernel_height) : axis(s, s.height, s.out_height, s.kernel_height);
  maker.columns =
      is_backward ? axis(s, s.out_width, s.width, s.kernel_width) : axis(s, s.width, s.out_width, s.kernel_width);
  maker.channels = is_backward ? s.out_channels : s.channels;
  maker.norm = norm;
  maker.is_direct = !maker.converts(source, plan.source_group) && has_narrow_borders(maker.columns);
  maker.set_source(source, plan.source_group, plan.outputs());
  plan.band = choose_band(maker, plan.source_group);
  return plan;
}

// Columns of the output that are computed together, and the weights they need: (taps, depth, columns) with the
// taps of each phase side by side, `row` elements from one unit of the source to the next.
struct GatherPanel {
  std::int64_t group = 0, column = 0, columns = 0;  // column counts over all groups
  const void* weights = nullptr;
  std::int64_t row = 0;
};

inline GatherPanel panel_at(const GatherPlan& plan, std::int64_t index) {
  const std::int64_t group = index / plan.group_panels(), inside = index % plan.group_panels() * plan.panel_columns;
  return {.group = group,
          .column = group * plan.out_group + inside,
          .columns = smaller(plan.panel_columns, plan.out_group - inside)};
}

// One thread's view of the work: which block it is at and where things lie.
struct GatherWork {
  const GatherPlan& plan;
  const Call& call;
  Ending ending;
  BandBlock block;
  Band band;
  FetchQueue ahead = {};  // what the next block is made of
};

// The products of all taps of one phase of each axis, before the rows outside the source are left out.
inline TileWork phase_work(const GatherWork& work, const GatherPanel& panel, const AxisPhase& rows,
                           const AxisPhase& columns) {
  TileWork t;
  t.a_row = work.band.pixel_step;
  t.a_inner = columns.source_step * work.band.pixel;
  t.a_outer = rows.source_step * work.band.row;
  t.b_next = panel.row;
  t.count = work.plan.depth();
  t.inner = columns.taps;
  t.b_inner = t.count * t.b_next;
  t.b_outer = t.inner * t.b_inner;
  return t;
}

// All outputs of the block that belong to one phase of each axis.
template <typename B>
void gather_phase(GatherWork& work, const GatherPanel& panel, const AxisPhase& rows, const AxisPhase& columns,
                  const B* weights) noexcept {
  const GatherPlan& plan = work.plan;
  const Axis& row_axis = plan.maker.rows;
  const Axis& column_axis = plan.maker.columns;
  const Band& band = work.band;
  const Range u = {larger(work.block.rows.begin, rows.begin), smaller(work.block.rows.end, rows.end)};
  const Range v = {larger(work.block.columns.begin, columns.begin), smaller(work.block.columns.end, columns.end)};
  if (v.begin >= v.end) return;
  const AxisBorder ends = border_of(column_axis, columns);
  const StripBorder border = {.skips_first = ends.is_narrow && ends.first && v.begin == columns.begin,
                              .skips_last = ends.is_narrow && ends.last && v.end == columns.end};
  TileWork t = phase_work(work, panel, rows, columns);
  const std::int64_t place = (columns.taps == 0 ? 0 : (columns.first_source - column_axis.low) * band.pixel) +
                             (v.begin - work.block.columns.begin) * band.pixel_step;
  for (std::int64_t i = u.begin; i < u.end; ++i) {
    const Range taps =
        inside_steps(i * row_axis.stride + rows.first_source, rows.source_step, row_axis.source, rows.taps);
    t.outer = taps.end - taps.begin;
    t.b = weights + taps.begin * t.b_outer;
    t.a = band.data + place + (i - work.block.rows.begin) * band.row_step +
          (rows.taps == 0 ? 0 : (rows.first_source - row_axis.low) * band.row + taps.begin * t.a_outer);
    const std::int64_t out_height = rows.first_out + row_axis.period * i;
    const std::int64_t out_width = columns.first_out + column_axis.period * v.begin;
    const std::int64_t pixel = (work.block.first_image * row_axis.out + out_height) * column_axis.out + out_width;
    run_tiles_to<B, false, !kHasPairs>(work.call.out[0], work.ending, t, border, v.end - v.begin, panel.column,
                                       panel.columns, pixel * plan.out_channels + panel.column,
                                       column_axis.period * plan.out_channels, &work.ahead);
  }
}

template <typename B>
void gather_panel(GatherWork& work, const GatherPanel& panel) noexcept {
  const GatherPlan& plan = work.plan;
  const auto* weights = static_cast<const B*>(panel.weights);
  for (std::int64_t i = 0; i < plan.maker.rows.period; ++i) {
    const AxisPhase rows = phase_of(plan.maker.rows, i);
    for (std::int64_t j = 0; j < plan.maker.columns.period; ++j) {
      const AxisPhase columns = phase_of(plan.maker.columns, j);
      gather_phase<B>(work, panel, rows, columns, weights);
      weights += rows.taps * columns.taps * plan.depth() * panel.row;
    }
  }
}

// What a gather is made of: the operands of a convolution without a norm, and those of the norm of its source, if any.
struct GatherCall {
  const Call& call;
  Ending ending;
  std::span<const TensorView> norm = {};
};

// Pointwise: windows multiply for so long that fetching lines meanwhile costs less than waiting for memory to take
// them. An addend that lies where the result goes is in the caches already.
inline bool may_stream(const GatherPlan& plan, const GatherCall& what) {
  const TensorView& out = what.call.out[0];
  const bool lies_over = what.ending.addend != nullptr && what.ending.addend->data == out.data;
  return plan.shape.taps() == 1 && out.dtype == DType::f32 && !lies_over &&
         is_streamed(out.as<const float>(), out.shape.count(), out.shape[3]);
}

// Panels [panels.begin, panels.end) of the pieces of rows that fall to thread `part` of those that share them.
// `panel_of` finds the weights.
template <typename B, typename PanelOf>
void gather(const GatherPlan& plan, const GatherCall& what, Shares& shares, int part, Range panels, float* buffer,
            PanelOf&& panel_of) noexcept {
  [[maybe_unused]] const TileRegisters registers;
  GatherWork work = {plan, what.call, what.ending, {}, {}};
  BandNorm norm = plan.buffer().norm_in(buffer, what.norm);
  const PieceMoments moments = plan.buffer().moments_in(buffer);
  if (plan.moments.exists()) work.ending.moments = &moments;
  work.ending.streams = may_stream(plan, what);
  shares.take(part, [&](Range pieces) {
    for (std::int64_t piece = pieces.begin; piece < pieces.end;) {
      work.block = plan.block_of(piece, pieces.end);
      piece += work.block.rows.end - work.block.rows.begin;
      work.ahead = {};
      if (piece < pieces.end)
        work.ahead = plan.maker.fetch(what.call.in[0], plan.block_of(piece, pieces.end), work.block);
      std::int64_t made_for = -1;
      for (std::int64_t index = panels.begin; index < panels.end; ++index) {
        const GatherPanel panel = panel_of(index);
        if (panel.group != made_for) {
          made_for = panel.group;
          work.block.channels = {made_for * plan.source_group, (made_for + 1) * plan.source_group};
          work.band = plan.maker.make(what.call.in[0], work.block, buffer, norm);
        }
        gather_panel<B>(work, panel);
      }
    }
  });
  if (work.ending.streams) end_streams();
}

}  // namespace thimble::kernels::THIMBLE_ISA
