// Gradient of a convolution with respect to its weights: for each tap a product of x, shifted by the tap, with dy over
// all pixels. Small gradients: threads share out the pixels and their partial sums are added in order of the threads.
// Large ones: threads share out channels and columns of the result and need no partial sums.
#include "kernels/cpu/conv_band.h"
#include "kernels/cpu/conv_depthwise.h"
#include "kernels/cpu/tile.h"

namespace thimble::kernels::THIMBLE_ISA::conv2d_grad_weight_kernel {
namespace {

constexpr Bytes kPartialBytes = 64 * kKiB;  // gradients up to here are summed in a copy a thread
constexpr Bytes kSumBytes = 256 * kKiB;     // of f32 sums held at once for a gradient that is stored otherwise
constexpr std::int64_t kWantedPixels =
    256;  // of a band: fetching and storing the sums should cost little beside the products
constexpr std::int64_t kFewChannels = 8;  // a tile of fewer rows wastes the processor

struct Plan : KernelState {
  ConvShape shape;
  BandMaker maker;
  BandSize band;
  std::int64_t images = 1;  // in a band, if it holds whole images
  int pixel_parts = 1;      // threads that share out the pixels
  ThreadGrid grid;          // of the other threads: channels x panels
  bool is_direct = false;   // the sums are the output

  std::int64_t row_count() const { return shape.out_height; }
  std::int64_t group_panels() const { return divide_up(shape.group_outs(), kTileColumns); }
  std::int64_t panel_count() const { return shape.groups * group_panels(); }
  std::int64_t sum_rows() const { return shape.taps() * shape.group_channels(); }
  std::int64_t panels_at_once() const {
    return is_direct || pixel_parts > 1 ? panel_count()
                                        : smaller(panel_count(), larger(1, kSumBytes / 4 / kTileColumns / sum_rows()));
  }
  std::int64_t sum_columns() const {
    return is_direct ? shape.out_channels : smaller(shape.out_channels, panels_at_once() * kTileColumns);
  }
  std::int64_t sum_elements() const { return is_direct ? 0 : round_up(sum_rows() * sum_columns(), 16); }
  std::int64_t thread_channels() const { return divide_up(shape.group_channels(), grid.rows); }
  std::int64_t buffer_elements() const {
    return round_up(images * maker.elements(band.rows, band.columns, thread_channels()), 16);
  }
  // With few channels a tile takes the taps of a kernel row together: they lie side by side in a band that is padded.
  bool joins_taps() const {
    return shape.group_channels() < kFewChannels && shape.dilation == 1 && shape.kernel_width > 1 && grid.rows == 1;
  }
  int threads() const { return pixel_parts * grid.rows * grid.columns; }
};

void plan_threads(Plan& plan, int threads, DType out) {
  const ConvShape& s = plan.shape;
  const Bytes sums = plan.sum_rows() * s.out_channels * 4;
  if (sums <= kPartialBytes) {
    plan.pixel_parts = static_cast<int>(smaller(threads, s.batch * s.out_height));
  } else {
    plan.grid = choose_grid(divide_up(s.group_channels(), kFewChannels), plan.panel_count(), threads);
  }
  plan.is_direct = out == DType::f32 && plan.pixel_parts == 1;
}

void plan_of(const KernelQuery& q, Plan& plan) {
  plan.shape = conv_shape(*q.attributes, q.in[0].shape, q.out[0].shape, q.in[1].shape);
  const ConvShape& s = plan.shape;
  BandMaker& maker = plan.maker;
  maker.rows = forward_axis(s, s.height, s.out_height, s.kernel_height);
  maker.columns = forward_axis(s, s.width, s.out_width, s.kernel_width);
  maker.channels = s.channels;
  plan_threads(plan, q.threads, q.out[0].dtype);
  maker.is_direct = q.in[0].dtype == DType::f32 && !plan.joins_taps();
  plan.band = choose_band(maker, plan.thread_channels());
  if (plan.band.rows == s.out_height && plan.band.columns == s.out_width) {
    plan.images = smaller(s.batch, divide_up(kWantedPixels, s.out_height * s.out_width));
  }
}

std::unique_ptr<KernelState> prepare(const KernelQuery& q) {
  auto plan = std::make_unique<Plan>();
  plan_of(q, *plan);
  return plan;
}

struct Work {
  float* sums = nullptr;     // (pixel_parts, sum_rows, sum_columns)
  float* buffers = nullptr;  // a band a thread
  Bytes bytes = 0;
};

Work carve(const Plan& plan, std::byte* base) {
  Carver carver(base);
  Work work;
  work.sums = carver.take<float>(plan.pixel_parts * plan.sum_elements());
  work.buffers = carver.take<float>(plan.threads() * plan.buffer_elements());
  work.bytes = carver.used();
  return work;
}

Bytes workspace(const KernelQuery& q) {
  Plan plan;
  plan_of(q, plan);
  return plan.shape.is_depthwise() ? 0 : carve(plan, nullptr).bytes;
}

// What one thread adds up: the products of pixel rows with panels of columns and a part of each group's channels.
struct Part {
  const Plan& plan;
  const Call& call;
  Range rows;  // output rows, counted over all images
  Range panels;
  Range channels;  // of each group
  float* buffer = nullptr;
  float* sums = nullptr;  // (sum_rows, sum_columns), column 0 being column `first_column` of the gradient
  std::int64_t sum_row = 0, first_column = 0;
};

// Part [chosen.begin, chosen.end) of the positions [block.begin, block.end).
Range overlap(Range block, Range chosen) {
  const std::int64_t begin = smaller(block.end, larger(block.begin, chosen.begin));
  return {begin, larger(begin, smaller(block.end, chosen.end))};
}

// The products of one tap, or of a row of taps together, over the pixels of the block whose window lies inside the
// source there.
template <typename Y>
void add_tap(const Part& part, const BandBlock& block, const Band& band, std::int64_t i, std::int64_t j, TileWork t,
             std::int64_t columns) noexcept {
  const ConvShape& s = part.plan.shape;
  const bool joins = part.plan.joins_taps();
  const std::int64_t channels = part.channels.end - part.channels.begin;
  const Range rows = overlap(block.rows, inside_windows(s, i * s.dilation, s.height, s.out_height));
  const Range pixels =
      joins ? block.columns : overlap(block.columns, inside_windows(s, j * s.dilation, s.width, s.out_width));
  t.count = pixels.end - pixels.begin;
  t.inner = rows.end - rows.begin;
  t.a = band.data + i * s.dilation * band.row + j * s.dilation * band.pixel +
        (rows.begin - block.rows.begin) * band.row_step + (pixels.begin - block.columns.begin) * band.pixel_step;
  t.b = static_cast<const Y*>(t.b) +
        ((block.first_image * s.out_height + rows.begin) * s.out_width + pixels.begin) * s.out_channels;
  t.c += ((i * s.kernel_width + j) * s.group_channels() + part.channels.begin) * t.c_row;
  run_tiles<Y, true>(t, joins ? s.kernel_width * channels : channels, columns);
}

template <typename Y>
void add_panel(const Part& part, const BandBlock& block, const Band& band, std::int64_t panel, bool adds) noexcept {
  const ConvShape& s = part.plan.shape;
  const std::int64_t inside = panel % part.plan.group_panels() * kTileColumns;
  const std::int64_t column = panel / part.plan.group_panels() * s.group_outs() + inside;
  TileWork t;
  t.a_row = 1;
  t.a_next = band.pixel_step;
  t.a_inner = band.row_step;
  t.a_outer = band.image;
  t.b = part.call.in[1].as<const Y>() + column;
  t.b_next = s.out_channels;
  t.b_inner = s.out_width * s.out_channels;
  t.b_outer = s.out_height * t.b_inner;
  t.outer = block.images;
  t.c = part.sums + column - part.first_column;
  t.c_row = part.sum_row;
  t.adds = adds;
  const std::int64_t taps = part.plan.joins_taps() ? 1 : s.kernel_width;
  for (std::int64_t i = 0; i < s.kernel_height; ++i) {
    for (std::int64_t j = 0; j < taps; ++j)
      add_tap<Y>(part, block, band, i, j, t, smaller(kTileColumns, s.group_outs() - inside));
  }
}

template <typename Y>
void add_block(const Part& part, BandBlock& block, bool adds) noexcept {
  const Plan& plan = part.plan;
  const std::int64_t group_channels = plan.shape.group_channels();
  std::int64_t made_for = -1;
  Band band;
  for (std::int64_t panel = part.panels.begin; panel < part.panels.end; ++panel) {
    const std::int64_t group = panel / plan.group_panels();
    if (group != made_for) {
      made_for = group;
      block.channels = {group * group_channels + part.channels.begin, group * group_channels + part.channels.end};
      band = plan.maker.make(part.call.in[0], block, part.buffer);
    }
    add_panel<Y>(part, block, band, panel, adds);
  }
}

template <typename Y>
void add_part(const Part& part) noexcept {
  const Plan& plan = part.plan;
  const std::int64_t height = plan.row_count(), width = plan.shape.out_width;
  if (part.channels.begin >= part.channels.end) return;
  BandBlock block;
  for (std::int64_t row = part.rows.begin; row < part.rows.end;) {
    const std::int64_t inside = row % height, left = part.rows.end - row;
    const std::int64_t count = smaller(smaller(plan.band.rows, height - inside), left);
    block.first_image = row / height;
    block.images = count == height ? larger(1, smaller(plan.images, left / height)) : 1;
    block.rows = {inside, inside + count};
    for (std::int64_t column = 0; column < width; column += plan.band.columns) {
      block.columns = {column, smaller(column + plan.band.columns, width)};
      add_block<Y>(part, block, row > part.rows.begin || column > 0);
    }
    row += block.images * count;
  }
}

// The gradient's columns [first, first + count) = the partial sums, added in order of the threads.
template <typename W>
void finish(const Plan& plan, const Call& call, const Work& work, std::int64_t first, std::int64_t count) noexcept {
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

template <typename Y>
void run_products(const Plan& plan, const Call& call) noexcept {
  const ConvShape& s = plan.shape;
  const Work work = carve(plan, call.workspace);
  const std::int64_t panels = plan.panel_count(), step = plan.panels_at_once();
  const auto column_of = [&](std::int64_t panel) {
    return panel >= panels ? s.out_channels
                           : panel / plan.group_panels() * s.group_outs() + panel % plan.group_panels() * kTileColumns;
  };
  for (std::int64_t first = 0; first < panels; first += step) {
    const std::int64_t chosen = smaller(step, panels - first);
    parallel(plan.threads(), [&](int thread, int) {
      const int pixel_part = thread % plan.pixel_parts, other = thread / plan.pixel_parts;
      const Range part = part_of(chosen, other % plan.grid.columns, plan.grid.columns);
      add_part<Y>({.plan = plan,
                   .call = call,
                   .rows = part_of(s.batch * s.out_height, pixel_part, plan.pixel_parts),
                   .panels = {first + part.begin, first + part.end},
                   .channels = part_of(s.group_channels(), other / plan.grid.columns, plan.grid.rows),
                   .buffer = work.buffers + thread * plan.buffer_elements(),
                   .sums = plan.is_direct ? call.out[0].as<float>() : work.sums + pixel_part * plan.sum_elements(),
                   .sum_row = plan.sum_columns(),
                   .first_column = plan.is_direct ? 0 : column_of(first)});
    });
    if (plan.is_direct) continue;
    const std::int64_t begin = column_of(first), end = column_of(first + chosen);
    with_element(call.out[0].dtype, [&](auto w) { finish<decltype(w)>(plan, call, work, begin, end - begin); });
  }
}

Status run(const KernelState& state, const Call& call) noexcept {
  const Plan& plan = static_cast<const Plan&>(state);
  if (plan.shape.is_depthwise()) {
    depthwise_grad_weight(plan.shape, call);
  } else {
    with_element(call.in[1].dtype, [&](auto y) { run_products<decltype(y)>(plan, call); });
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
