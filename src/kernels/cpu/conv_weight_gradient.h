// Products of x and dy over all pixels, for the gradient of a convolution's weights: for each tap x is shifted by the
// tap. Small gradients: threads share out the pixels and their partial sums are added in order of the threads. Large
// ones: threads share out channels and columns of the result and need no partial sums.
#pragma once

#include "kernels/cpu/conv_depthwise_weight.h"
#include "kernels/cpu/conv_weight_call.h"
#include "kernels/cpu/conv_weight_plan.h"

namespace thimble::kernels::THIMBLE_ISA {

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

// What is fetched for later of x may take so much of a core's cache.
constexpr Bytes kFetchedBytes = 512 * kKiB;

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
  const std::int64_t count = block.images * rows * columns, width = bytes_of(map.dtype), row = map.shape.at(-1) * width;
  const std::int64_t first =
      (block.first_image * s.out_height + block.rows.begin) * s.out_width + block.columns.begin + (is_next ? count : 0);
  return {map.as<const std::byte>() + first * row + channels.begin * width, row, count,
          divide_up((channels.end - channels.begin) * width, kLineBytes)};
}

// Channels that are held at once, and panels of one group. `ahead` is what is copied next.
inline void add_channels(const WeightPart& part, BandBlock& block, Range channels, Range panels, BandNorm& norm,
                         bool adds, const FetchQueue& ahead) noexcept {
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
  FetchQueue queues[] = {{}, ahead};
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
  // Windows of several taps read x so often that fetching it once shows little.
  const bool is_pointwise = plan.shape.taps() == 1 && plan.shape.stride == 1;
  // The same channels of the next block are fetched, or, where those would be gone before it is their turn, the next of
  // this block.
  const Bytes wide = (part.channels.end - part.channels.begin) * bytes_of(part.call.x.dtype);
  const bool keeps_block = plan.block_pixels() * wide <= kFetchedBytes;
  for (std::int64_t first = part.panels.begin; first < part.panels.end;) {
    const std::int64_t group = first / group_panels, end = smaller(part.panels.end, (group + 1) * group_panels);
    const std::int64_t base = group * plan.shape.group_channels();
    const std::int64_t step = plan.held * plan.chunk;
    const auto held_from = [&](std::int64_t channel) {
      return Range{base + channel, base + smaller(channel + step, part.channels.end)};
    };
    for (std::int64_t channel = part.channels.begin; channel < part.channels.end; channel += step) {
      FetchQueue ahead;
      if (is_pointwise) {
        const bool is_last = channel + step >= part.channels.end, is_next = keeps_block || is_last;
        const std::int64_t to = keeps_block ? channel : is_last ? part.channels.begin : channel + step;
        ahead = pixels_to_fetch(part, part.call.x, block, held_from(to), is_next);
      }
      add_channels(part, block, held_from(channel), {first, end}, norm, adds, ahead);
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

// Channels of each group and panels of the gradient.
struct WeightBlock {
  Range channels, panels;
};

// Ends some rows of a block, counted over all taps.
inline void finish(const WeightPlan& plan, const WeightCall& call, const float* sums, const WeightBlock& block,
                   Range rows) noexcept {
  const std::int64_t height = block.channels.end - block.channels.begin;
  const std::int64_t column = plan.panel_column(block.panels.begin);
  const std::int64_t columns = plan.panel_column(block.panels.end) - column;
  const auto place_of = [&](std::int64_t row) {
    const std::int64_t channel = row / height * plan.shape.group_channels() + block.channels.begin + row % height;
    return channel * plan.shape.out_channels + column;
  };
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    if (row + 1 < rows.end) call.update.fetch(place_of(row + 1), columns);
    const std::int64_t sum_row = row / height * plan.channels_at_once() + row % height;
    finish_sums(call, sums + sum_row * plan.sum_columns(), plan.pixel_parts, plan.sum_elements(), place_of(row),
                columns);
  }
}

// The sums of all pixels of a thread's part of the gradient, one piece after the other.
inline void run_turns(const WeightPart& part, const WeightBlock& own) noexcept {
  const WeightPlan& plan = part.plan;
  for (std::int64_t channel = own.channels.begin; channel < own.channels.end; channel += plan.turn_channels) {
    for (std::int64_t panel = own.panels.begin; panel < own.panels.end; panel += plan.turn_panels) {
      const WeightBlock block = {{channel, smaller(channel + plan.turn_channels, own.channels.end)},
                                 {panel, smaller(panel + plan.turn_panels, own.panels.end)}};
      WeightPart turn = part;
      turn.channels = block.channels;
      turn.panels = block.panels;
      turn.first_channel = block.channels.begin;
      turn.first_column = plan.panel_column(panel);
      add_part(turn);
      finish(plan, part.call, part.sums, block, {0, plan.shape.taps() * (block.channels.end - block.channels.begin)});
    }
  }
}

inline void run_products(const WeightPlan& plan, const WeightCall& call) noexcept {
  const ConvShape& s = plan.shape;
  const WeightWork work = carve_weight_work(plan, call.workspace);
  const bool in_turns = plan.sums_in_turns();
  parallel(plan.threads(), [&](int thread, int) {
    const int pixel_part = thread % plan.pixel_parts, other = thread / plan.pixel_parts;
    const WeightBlock own = {part_of(s.group_channels(), other / plan.grid.columns, plan.grid.rows),
                             part_of(plan.panel_count(), other % plan.grid.columns, plan.grid.columns)};
    const int set = in_turns ? thread : pixel_part;
    const WeightPart part = {.plan = plan,
                             .call = call,
                             .rows = part_of(s.batch * s.out_height, pixel_part, plan.pixel_parts),
                             .panels = own.panels,
                             .channels = own.channels,
                             .buffer = work.buffers + thread * plan.thread_elements(),
                             .sums = plan.is_direct ? call.out.as<float>() : work.sums + set * plan.sum_elements(),
                             .sum_row = plan.sum_columns(),
                             .adds = plan.is_direct && call.adds};
    in_turns ? run_turns(part, own) : add_part(part);
  });
  if (plan.is_direct || in_turns) return;
  const WeightBlock all = {{0, s.group_channels()}, {0, plan.panel_count()}};
  parallel_for(call.threads, s.taps() * s.group_channels(), [&](std::int64_t begin, std::int64_t end) {
    finish(plan, call, work.sums, all, {begin, end});
  });
}

inline void run_depthwise_products(const WeightPlan& plan, const WeightCall& call) noexcept {
  const WeightWork work = carve_weight_work(plan, call.workspace);
  const auto sum_with = [&](const auto& with_source) {
    sum_depthwise_weights(plan.shape, call.x, call.dy, plan.pixel_parts, plan.sum_elements(), call.threads, with_source,
                          work.sums);
  };
  const SourceNorm& norm = plan.maker.norm;
  if (norm.exists) {
    sum_with([&](int part, Range channels, auto&& body) {
      BandNorm own(norm, call.norm, work.buffers + part * norm.elements());
      body(NormedSource{own, channels});
    });
  } else {
    sum_with([](int, Range, auto&& body) { body(PlainSource{}); });
  }
  parallel_for(call.threads, plan.shape.taps(), [&](std::int64_t begin, std::int64_t end) {
    finish(plan, call, work.sums, {{0, 1}, {0, plan.panel_count()}}, {begin, end});
  });
}

}  // namespace thimble::kernels::THIMBLE_ISA
