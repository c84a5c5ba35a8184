// Gradient of a convolution with respect to its weights: for each tap a product of x, shifted by the tap, with dy over
// all pixels. Small gradients: threads share out the pixels and their partial sums are added in order of the threads.
// Large ones: threads share out channels and columns of the result and need no partial sums.
#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/conv_weight_plan.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_grad_weight_kernel {
namespace {

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto plan = std::make_unique<WeightPlan>();
  plan_weight_gradient(*plan, q);
  return plan;
}

struct Work {
  float* sums = nullptr;     // (pixel_parts, sum_rows, sum_columns)
  float* buffers = nullptr;  // (threads, thread_elements)
  Bytes bytes = 0;
};

Work carve(const WeightPlan& plan, std::byte* base) {
  Carver carver(base);
  Work work;
  work.sums = carver.take<float>(plan.pixel_parts * plan.sum_elements());
  work.buffers = carver.take<float>(plan.threads() * plan.thread_elements());
  work.bytes = carver.used();
  return work;
}

Bytes workspace(const KernelQuery& q) {
  WeightPlan plan;
  plan_weight_gradient(plan, q);
  return plan.shape.is_depthwise() ? 0 : carve(plan, nullptr).bytes;
}

// What one thread adds up: the products of pixel rows with panels of columns and a part of each group's channels.
struct Part {
  const WeightPlan& plan;
  const Call& call;
  Range rows;  // output rows, counted over all images
  Range panels;
  Range channels;  // of each group
  float* buffer = nullptr;
  float* sums = nullptr;  // (sum_rows, sum_columns), column 0 being column `first_column` of the gradient
  std::int64_t sum_row = 0, first_column = 0;
};

// A panel of dy for a block of pixels: strides from one pixel, row and image to the next, from the block's first pixel
// on.
struct PanelOfDy {
  const float* data = nullptr;
  std::int64_t pixel = 0, row = 0, image = 0;
};

template <typename Y>
PanelOfDy pack_dy(const Part& part, const BandBlock& block, std::int64_t column, std::int64_t columns,
                  float* packed) noexcept {
  const ConvShape& s = part.plan.shape;
  const std::int64_t width = block.columns.end - block.columns.begin, height = block.rows.end - block.rows.begin;
  float* to = packed;
  for (std::int64_t b = block.first_image; b < block.first_image + block.images; ++b) {
    for (std::int64_t row = block.rows.begin; row < block.rows.end; ++row) {
      const std::int64_t pixel = (b * s.out_height + row) * s.out_width + block.columns.begin;
      const Y* from = part.call.in[1].as<const Y>() + pixel * s.out_channels + column;
      for (std::int64_t i = 0; i < width; ++i, to += kTileColumns, from += s.out_channels)
        copy_to_f32(to, from, columns);
    }
  }
  return {packed, kTileColumns, width * kTileColumns, height * width * kTileColumns};
}

PanelOfDy make_dy(const Part& part, const BandBlock& block, std::int64_t column, std::int64_t columns) noexcept {
  const ConvShape& s = part.plan.shape;
  const TensorView& dy = part.call.in[1];
  if (part.plan.packs_dy) {
    float* packed = part.buffer + part.plan.x_elements();
    return dy.dtype == DType::f32 ? pack_dy<float>(part, block, column, columns, packed)
                                  : pack_dy<BFloat16>(part, block, column, columns, packed);
  }
  const std::int64_t row = s.out_width * s.out_channels, image = s.out_height * row;
  const float* data = dy.as<const float>() + block.first_image * image + block.rows.begin * row;
  return {data + block.columns.begin * s.out_channels + column, s.out_channels, row, image};
}

// Part [chosen.begin, chosen.end) of the positions [block.begin, block.end), counted from block.begin.
Range overlap(Range block, Range chosen) {
  const std::int64_t begin = smaller(block.end, larger(block.begin, chosen.begin)) - block.begin;
  return {begin, larger(begin, smaller(block.end, chosen.end) - block.begin)};
}

// The products of one tap, or of a row of taps together, over the pixels of the block whose window lies inside the
// source there.
void add_tap(const WeightPlan& plan, const BandBlock& block, const Band& band, std::int64_t i, std::int64_t j,
             TileWork t, std::int64_t columns) noexcept {
  const ConvShape& s = plan.shape;
  const bool joins = plan.joins_taps();
  const std::int64_t channels = block.channels.end - block.channels.begin;
  const Range rows = overlap(block.rows, inside_windows(s, i * s.dilation, s.height, s.out_height));
  const Range all = {0, s.out_width};
  const Range pixels = overlap(block.columns, joins ? all : inside_windows(s, j * s.dilation, s.width, s.out_width));
  t.count = pixels.end - pixels.begin;
  t.inner = rows.end - rows.begin;
  t.a += i * s.dilation * band.row + j * s.dilation * band.pixel + rows.begin * t.a_inner + pixels.begin * t.a_next;
  t.b = static_cast<const float*>(t.b) + rows.begin * t.b_inner + pixels.begin * t.b_next;
  t.c += (i * s.kernel_width + j) * s.group_channels() * t.c_row;
  run_tiles<float, true>(t, joins ? s.kernel_width * channels : channels, columns);
}

void add_panel(const Part& part, const BandBlock& block, const Band& band, std::int64_t panel, bool adds) noexcept {
  const WeightPlan& plan = part.plan;
  const std::int64_t column = plan.panel_column(panel), columns = plan.panel_columns(panel);
  const std::int64_t first_channel = block.channels.begin % plan.shape.group_channels();
  const PanelOfDy dy = make_dy(part, block, column, columns);
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
  t.outer = block.images;
  t.c = part.sums + first_channel * part.sum_row + column - part.first_column;
  t.c_row = part.sum_row;
  t.adds = adds;
  const std::int64_t taps = plan.joins_taps() ? 1 : plan.shape.kernel_width;
  for (std::int64_t i = 0; i < plan.shape.kernel_height; ++i) {
    for (std::int64_t j = 0; j < taps; ++j) add_tap(plan, block, band, i, j, t, columns);
  }
}

// All channels and panels of the part for one block of pixels.
void add_block(const Part& part, BandBlock& block, bool adds) noexcept {
  const WeightPlan& plan = part.plan;
  const std::int64_t group_panels = plan.group_panels();
  for (std::int64_t first = part.panels.begin; first < part.panels.end;) {
    const std::int64_t group = first / group_panels, end = smaller(part.panels.end, (group + 1) * group_panels);
    const std::int64_t base = group * plan.shape.group_channels();
    for (std::int64_t channel = part.channels.begin; channel < part.channels.end; channel += plan.chunk) {
      block.channels = {base + channel, base + smaller(channel + plan.chunk, part.channels.end)};
      const Band band = plan.maker.make(part.call.in[0], block, part.buffer);
      for (std::int64_t panel = first; panel < end; ++panel) add_panel(part, block, band, panel, adds);
    }
    first = end;
  }
}

void add_part(const Part& part) noexcept {
  const WeightPlan& plan = part.plan;
  const std::int64_t height = plan.shape.out_height, width = plan.shape.out_width;
  BandBlock block;
  for (std::int64_t row = part.rows.begin; row < part.rows.end;) {
    const std::int64_t inside = row % height, left = part.rows.end - row;
    const std::int64_t count = smaller(smaller(plan.band.rows, height - inside), left);
    block.first_image = row / height;
    block.images = count == height ? larger(1, smaller(plan.images, left / height)) : 1;
    block.rows = {inside, inside + count};
    for (std::int64_t column = 0; column < width; column += plan.band.columns) {
      block.columns = {column, smaller(column + plan.band.columns, width)};
      add_block(part, block, row > part.rows.begin || column > 0);
    }
    row += block.images * count;
  }
}

// The gradient's columns [first, first + count) = the partial sums, added in order of the threads.
template <typename W>
void finish(const WeightPlan& plan, const Call& call, const Work& work, std::int64_t first,
            std::int64_t count) noexcept {
  const std::int64_t sum_row = plan.sum_columns(), outs = plan.shape.out_channels;
  W* dw = call.out[0].as<W>() + first;
  parallel_for(call.threads, plan.sum_rows(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t n = 0; n < count; n += kLanes) {
        const int lanes = static_cast<int>(smaller(kLanes, count - n));
        const float* sums = work.sums + row * sum_row + n;
        Vec total = load_first(sums, lanes);
        for (int k = 1; k < plan.pixel_parts; ++k)
          total = add(total, load_first(sums + k * plan.sum_elements(), lanes));
        store_first(dw + row * outs + n, total, lanes);
      }
    }
  });
}

void run_products(const WeightPlan& plan, const Call& call) noexcept {
  const ConvShape& s = plan.shape;
  const Work work = carve(plan, call.workspace);
  const std::int64_t panels = plan.panel_count(), step = plan.panels_at_once();
  for (std::int64_t first = 0; first < panels; first += step) {
    const std::int64_t chosen = smaller(step, panels - first);
    parallel(plan.threads(), [&](int thread, int) {
      const int pixel_part = thread % plan.pixel_parts, other = thread / plan.pixel_parts;
      const Range part = part_of(chosen, other % plan.grid.columns, plan.grid.columns);
      add_part({.plan = plan,
                .call = call,
                .rows = part_of(s.batch * s.out_height, pixel_part, plan.pixel_parts),
                .panels = {first + part.begin, first + part.end},
                .channels = part_of(s.group_channels(), other / plan.grid.columns, plan.grid.rows),
                .buffer = work.buffers + thread * plan.thread_elements(),
                .sums = plan.is_direct ? call.out[0].as<float>() : work.sums + pixel_part * plan.sum_elements(),
                .sum_row = plan.sum_columns(),
                .first_column = plan.is_direct ? 0 : plan.panel_column(first)});
    });
    if (plan.is_direct) continue;
    const std::int64_t begin = plan.panel_column(first), end = plan.panel_column(first + chosen);
    with_element(call.out[0].dtype, [&](auto w) { finish<decltype(w)>(plan, call, work, begin, end - begin); });
  }
}

Status run(const KernelState& state, const Call& call) noexcept {
  const WeightPlan& plan = static_cast<const WeightPlan&>(state);
  if (plan.shape.is_depthwise()) {
    depthwise_grad_weight(plan.shape, call);
  } else {
    run_products(plan, call);
  }
  return Status::good;
}

}  // namespace

extern const Kernel def = {.op = "conv2d_grad_weight",
                           .name = "conv2d_grad_weight",
                           .isa = kIsa,
                           .rank = static_cast<int>(kIsa),
                           .refuse = refuse_unstored,
                           .workspace = workspace,
                           .prepare = prepare,
                           .run = run};

}  // namespace thimble::kernels::THIMBLE_ISA::conv2d_grad_weight_kernel
