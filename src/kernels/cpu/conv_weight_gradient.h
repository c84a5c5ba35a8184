// Products of x and dy over all pixels, for the gradient of a convolution's weights: for each tap x is shifted by the
// tap. Small gradients: threads share out the pixels and their partial sums are added in order of the threads. Large
// ones: threads share out channels and columns of the result and need no partial sums.
#pragma once

#include "kernels/cpu/blocks.h"
#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/conv_weight_plan.h"

namespace thimble::kernels::THIMBLE_ISA {

struct WeightCall {
  const TensorView& x;
  const TensorView& dy;
  const TensorView& out;  // (KH, KW, C/groups, O)
  std::byte* workspace = nullptr;
  int threads = 1;
  bool adds = false;                      // to what `out` holds
  Rounding rounding = {};                 // of a bf16 `out`
  std::span<const TensorView> norm = {};  // statistics and parameters of the norm of x, if it has one
};

struct WeightWork {
  float* sums = nullptr;     // (pixel_parts, sum_rows, sum_columns)
  float* buffers = nullptr;  // (threads, thread_elements)
  Bytes bytes = 0;
};

inline WeightWork carve_weight_work(const WeightPlan& plan, std::byte* base) {
  Carver carver(base);
  WeightWork work;
  work.sums = carver.take<float>(plan.pixel_parts * plan.sum_elements());
  work.buffers = carver.take<float>(plan.threads() * plan.thread_elements());
  work.bytes = carver.used();
  return work;
}

inline Bytes weight_gradient_workspace(const WeightPlan& plan) {
  if (plan.shape.is_depthwise()) return plan.pixel_parts * depthwise_weight_elements(plan.shape) * 4;
  return carve_weight_work(plan, nullptr).bytes;
}

// What one thread adds up: the products of pixel rows with panels of columns and a part of each group's channels.
struct WeightPart {
  const WeightPlan& plan;
  const WeightCall& call;
  Range rows;  // output rows, counted over all images
  Range panels;
  Range channels;  // of each group
  float* buffer = nullptr;
  float* sums = nullptr;  // (taps, channels_at_once, sum_columns), from channel `first_channel` of each group and
                          // column `first_column` of the gradient on
  std::int64_t sum_row = 0, first_channel = 0, first_column = 0;
  bool adds = false;  // to what the sums hold
};

// A panel of dy for a block of pixels: strides from one pixel, row and image to the next, from the block's first pixel
// on. Where units are pairs, each holds two pixels of a row. For matrix registers pixels lie side by side.
struct PanelOfDy {
  const Unit* data = nullptr;
  std::int64_t pixel = 0, row = 0, image = 0, column = 1;
};

template <typename Y>
PanelOfDy pack_dy(const WeightPart& part, const BandBlock& block, std::int64_t column, std::int64_t columns,
                  float* packed) noexcept {
  const ConvShape& s = part.plan.shape;
  const std::int64_t width = block.columns.end - block.columns.begin, height = block.rows.end - block.rows.begin;
  const std::int64_t column_step = kHasMatrices ? block.images * height * units_of(width) : 1;
  const std::int64_t pixel_step = kHasMatrices ? 1 : kTileColumns, row_units = units_of(width) * pixel_step;
  auto* to = reinterpret_cast<Unit*>(packed);
  for (std::int64_t b = block.first_image; b < block.first_image + block.images; ++b) {
    for (std::int64_t row = block.rows.begin; row < block.rows.end; ++row) {
      const std::int64_t pixel = (b * s.out_height + row) * s.out_width + block.columns.begin;
      const Y* from = part.call.dy.as<const Y>() + pixel * s.out_channels + column;
      if constexpr (kHasMatrices) {
        join_columns(to, column_step, from, s.out_channels, width, columns);
      } else {
        join_rows(to, kTileColumns, from, s.out_channels, width, columns);
      }
      to += row_units;
    }
  }
  return {reinterpret_cast<const Unit*>(packed), pixel_step, row_units, height * row_units, column_step};
}

inline PanelOfDy make_dy(const WeightPart& part, const BandBlock& block, std::int64_t column,
                         std::int64_t columns) noexcept {
  const ConvShape& s = part.plan.shape;
  const TensorView& dy = part.call.dy;
  if (part.plan.packs_dy) {
    float* packed = part.buffer + part.plan.x_elements();
    return dy.dtype == DType::f32 ? pack_dy<float>(part, block, column, columns, packed)
                                  : pack_dy<BFloat16>(part, block, column, columns, packed);
  }
  const std::int64_t row = s.out_width * s.out_channels, image = s.out_height * row;
  const Unit* data = dy.as<const Unit>() + block.first_image * image + block.rows.begin * row;
  return {data + block.columns.begin * s.out_channels + column, s.out_channels, row, image};
}

// Part [chosen.begin, chosen.end) of the positions [block.begin, block.end), counted from block.begin.
inline Range overlap(Range block, Range chosen) {
  const std::int64_t begin = smaller(block.end, larger(block.begin, chosen.begin)) - block.begin;
  return {begin, larger(begin, smaller(block.end, chosen.end) - block.begin)};
}

// The products of one tap, or of a row of taps together, over the pixels of the block whose window lies inside the
// source there.
inline void add_tap(const WeightPlan& plan, const BandBlock& block, const Band& band, std::int64_t i, std::int64_t j,
                    TileWork t, std::int64_t columns, std::span<FetchQueue> queues) noexcept {
  const ConvShape& s = plan.shape;
  const bool joins = plan.joins_taps();
  const std::int64_t channels = block.channels.end - block.channels.begin;
  const Range rows = overlap(block.rows, inside_windows(s, i * s.dilation, s.height, s.out_height));
  const Range all = {0, s.out_width};
  // Pairs are those of the whole row, for all taps; a band that is made of them is padded.
  const bool takes_all = joins || kHasPairs;
  const Range pixels =
      overlap(block.columns, takes_all ? all : inside_windows(s, j * s.dilation, s.width, s.out_width));
  t.count = units_of(pixels.end - pixels.begin);
  t.inner = rows.end - rows.begin;
  t.a += i * s.dilation * band.row + j * s.dilation * band.pixel + rows.begin * t.a_inner + pixels.begin * t.a_next;
  t.b = static_cast<const Unit*>(t.b) + rows.begin * t.b_inner + pixels.begin * t.b_next;
  if (t.a_inner == t.count * t.a_next && t.b_inner == t.count * t.b_next) {  // one long run
    t.count *= t.inner;
    t.inner = 1;
  }
  t.c += (i * s.kernel_width + j) * plan.channels_at_once() * t.c_row;
  run_tiles<Unit, true>(t, joins ? s.kernel_width * channels : channels, columns, queues);
}

inline void add_panel(const WeightPart& part, const BandBlock& block, const Band& band, const PanelOfDy& dy,
                      std::int64_t panel, bool adds, std::span<FetchQueue> queues) noexcept {
  const WeightPlan& plan = part.plan;
  const std::int64_t column = plan.panel_column(panel), columns = plan.panel_columns(panel);
  const std::int64_t first_channel = block.channels.begin % plan.shape.group_channels() - part.first_channel;
  TileWork t;
  t.a = band.data;
  t.a_row = 1;
  t.a_next = band.pixel_step;
  t.a_inner = band.row_step;
  t.a_outer = band.image;
  t.b = dy.data;
  t.b_next = dy.pixel;
  t.b_inner = dy.row;
  t.b_outer = dy.image;
  t.b_column = dy.column;
  t.outer = block.images;
  t.c = part.sums + first_channel * part.sum_row + column - part.first_column;
  t.c_row = part.sum_row;
  t.adds = adds;
  const std::int64_t taps = plan.joins_taps() ? 1 : plan.shape.kernel_width;
  for (std::int64_t i = 0; i < plan.shape.kernel_height; ++i) {
    for (std::int64_t j = 0; j < taps; ++j) add_tap(plan, block, band, i, j, t, columns, queues);
  }
}

// Some channels of the block's pixels in a map of the output's size, or of as many pixels behind it.
inline FetchQueue pixels_to_fetch(const WeightPart& part, const TensorView& map, const BandBlock& block, Range channels,
                                  bool is_next) {
  const ConvShape& s = part.plan.shape;
  const std::int64_t rows = block.rows.end - block.rows.begin, columns = block.columns.end - block.columns.begin;
  if (rows > 1 && columns < s.out_width) return {};
  const std::int64_t count = block.images * rows * columns, width = bytes_of(map.dtype), row = map.shape[3] * width;
  const std::int64_t first =
      (block.first_image * s.out_height + block.rows.begin) * s.out_width + block.columns.begin + (is_next ? count : 0);
  return {map.as<const std::byte>() + first * row + channels.begin * width, row, count,
          divide_up((channels.end - channels.begin) * width, kLineBytes)};
}

// Channels that are held at once, and panels of one group.
inline void add_channels(const WeightPart& part, BandBlock& block, Range channels, Range panels, BandNorm& norm,
                         bool adds) noexcept {
  const WeightPlan& plan = part.plan;
  Band bands[kMostHeld];
  const auto each_chunk = [&](auto&& body) {
    for (std::int64_t k = 0, channel = channels.begin; channel < channels.end; ++k, channel += plan.chunk) {
      block.channels = {channel, smaller(channel + plan.chunk, channels.end)};
      body(k);
    }
  };
  each_chunk([&](std::int64_t k) {
    bands[k] = plan.maker.make(part.call.x, block, part.buffer + k * plan.chunk_elements(), norm);
  });
  // Windows of several taps read x so often that fetching it once shows little.
  const bool is_pointwise = plan.shape.taps() == 1 && plan.shape.stride == 1;
  FetchQueue queues[] = {{}, is_pointwise ? pixels_to_fetch(part, part.call.x, block, channels, true) : FetchQueue{}};
  for (std::int64_t panel = panels.begin; panel < panels.end; ++panel) {
    const PanelOfDy dy = make_dy(part, block, plan.panel_column(panel), plan.panel_columns(panel));
    const bool is_last = panel + 1 == panels.end;
    const std::int64_t next = is_last ? panels.begin : panel + 1;
    queues[0] =
        pixels_to_fetch(part, part.call.dy, block, {plan.panel_column(next), plan.panel_column(next + 1)}, is_last);
    each_chunk([&](std::int64_t k) { add_panel(part, block, bands[k], dy, panel, adds, queues); });
  }
}

// All channels and panels of the part for one block of pixels.
inline void add_block(const WeightPart& part, BandBlock& block, BandNorm& norm, bool adds) noexcept {
  const WeightPlan& plan = part.plan;
  const std::int64_t group_panels = plan.group_panels();
  for (std::int64_t first = part.panels.begin; first < part.panels.end;) {
    const std::int64_t group = first / group_panels, end = smaller(part.panels.end, (group + 1) * group_panels);
    const std::int64_t base = group * plan.shape.group_channels();
    const std::int64_t step = plan.held * plan.chunk;
    for (std::int64_t channel = part.channels.begin; channel < part.channels.end; channel += step) {
      const Range channels = {base + channel, base + smaller(channel + step, part.channels.end)};
      add_channels(part, block, channels, {first, end}, norm, adds);
    }
    first = end;
  }
}

inline void add_part(const WeightPart& part) noexcept {
  const WeightPlan& plan = part.plan;
  const std::int64_t height = plan.shape.out_height, width = plan.shape.out_width;
  [[maybe_unused]] const TileRegisters registers;
  BandBlock block;
  BandNorm norm(plan.maker.norm, part.call.norm, part.buffer + round_up(plan.copied_elements(), 16));
  for (std::int64_t row = part.rows.begin; row < part.rows.end;) {
    const std::int64_t inside = row % height, left = part.rows.end - row;
    const std::int64_t count = smaller(smaller(plan.band.rows, height - inside), left);
    block.first_image = row / height;
    block.images = count == height ? larger(1, smaller(plan.images, left / height)) : 1;
    block.rows = {inside, inside + count};
    for (std::int64_t column = 0; column < width; column += plan.band.columns) {
      block.columns = {column, smaller(column + plan.band.columns, width)};
      add_block(part, block, norm, part.adds || row > part.rows.begin || column > 0);
    }
    row += block.images * count;
  }
}

// What is written to out[place ...) for finished sums. The element's index chooses the random bits, as for any update.
template <typename W>
THIMBLE_INLINE void write_sum(const WeightCall& call, std::int64_t place, Vec sum, int lanes) {
  W* to = call.out.as<W>() + place;
  if (call.adds) sum = add(load_first(to, lanes), sum);
  if constexpr (std::is_same_v<W, BFloat16>) {
    if (call.rounding.is_stochastic) {
      const Words words = first_words(call.rounding.key, call.rounding.turn,
                                      [=](int lane) { return static_cast<std::uint64_t>(place + lane) * 4; });
      store_stochastic(to, sum, words, FirstLanes{lanes});
      return;
    }
  }
  store_first(to, sum, lanes);
}

// One block of the gradient = the partial sums, added in order of the threads.
template <typename W>
void finish(const WeightPlan& plan, const WeightCall& call, const WeightWork& work, Range channels,
            Range columns) noexcept {
  const std::int64_t sum_row = plan.sum_columns(), outs = plan.shape.out_channels;
  const std::int64_t height = channels.end - channels.begin, count = columns.end - columns.begin;
  parallel_for(call.threads, plan.shape.taps() * height, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t tap = row / height, channel = row % height;
      const float* sums = work.sums + (tap * plan.channels_at_once() + channel) * sum_row;
      const std::int64_t place = (tap * plan.shape.group_channels() + channels.begin + channel) * outs + columns.begin;
      for (std::int64_t n = 0; n < count; n += kLanes) {
        const int lanes = static_cast<int>(smaller(kLanes, count - n));
        Vec total = load_first(sums + n, lanes);
        for (int k = 1; k < plan.pixel_parts; ++k)
          total = add(total, load_first(sums + k * plan.sum_elements() + n, lanes));
        write_sum<W>(call, place + n, total, lanes);
      }
    }
  });
}

// The block of the gradient that is summed at one time: channels of each group, and panels.
inline void run_turn(const WeightPlan& plan, const WeightCall& call, const WeightWork& work, Range channels,
                     Range panels) noexcept {
  const ConvShape& s = plan.shape;
  const Range columns = {plan.panel_column(panels.begin), plan.panel_column(panels.end)};
  parallel(plan.threads(), [&](int thread, int) {
    const int pixel_part = thread % plan.pixel_parts, other = thread / plan.pixel_parts;
    const Range chosen = part_of(panels.end - panels.begin, other % plan.grid.columns, plan.grid.columns);
    const Range part = part_of(channels.end - channels.begin, other / plan.grid.columns, plan.grid.rows);
    add_part({.plan = plan,
              .call = call,
              .rows = part_of(s.batch * s.out_height, pixel_part, plan.pixel_parts),
              .panels = {panels.begin + chosen.begin, panels.begin + chosen.end},
              .channels = {channels.begin + part.begin, channels.begin + part.end},
              .buffer = work.buffers + thread * plan.thread_elements(),
              .sums = plan.is_direct ? call.out.as<float>() : work.sums + pixel_part * plan.sum_elements(),
              .sum_row = plan.sum_columns(),
              .first_channel = channels.begin,
              .first_column = plan.is_direct ? 0 : columns.begin,
              .adds = plan.is_direct && call.adds});
  });
  if (plan.is_direct) return;
  with_element(call.out.dtype, [&](auto w) { finish<decltype(w)>(plan, call, work, channels, columns); });
}

inline void run_products(const WeightPlan& plan, const WeightCall& call) noexcept {
  const WeightWork work = carve_weight_work(plan, call.workspace);
  const std::int64_t panels = plan.panel_count(), panel_step = plan.panels_at_once();
  const std::int64_t channels = plan.shape.group_channels(), channel_step = plan.channels_at_once();
  for (std::int64_t panel = 0; panel < panels; panel += panel_step) {
    for (std::int64_t channel = 0; channel < channels; channel += channel_step) {
      run_turn(plan, call, work, {channel, smaller(channel + channel_step, channels)},
               {panel, smaller(panel + panel_step, panels)});
    }
  }
}

inline void run_weight_gradient(const WeightPlan& plan, const WeightCall& call) noexcept {
  if (!plan.shape.is_depthwise()) return run_products(plan, call);
  depthwise_grad_weight(plan.shape, call.x, call.dy, plan.pixel_parts, call.threads,
                        reinterpret_cast<float*>(call.workspace), [&](std::int64_t place, Vec sum, int lanes) {
                          with_element(call.out.dtype,
                                       [&](auto w) { write_sum<decltype(w)>(call, place, sum, lanes); });
                        });
}

}  // namespace thimble::kernels::THIMBLE_ISA
