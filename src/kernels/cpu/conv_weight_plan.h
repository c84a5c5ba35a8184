// How the gradient of a convolution's weights is cut up: which threads take which pixels, channels and columns, what is
// copied on the way, and where sums wait.
#pragma once

#include "kernels/cpu/conv_band.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr Bytes kPartialBytes = 64 * kKiB;  // gradients up to here are summed in a copy a thread,
constexpr std::int64_t kPartialPart = 8;    // depthwise ones while copies are no larger part of x and dy
// Of f32 sums that all threads hold at once, for a gradient that is stored otherwise, and that each holds, for one that
// is not stored at all.
constexpr Bytes kSumBytes = 96 * kKiB, kUpdateSumBytes = 256 * kKiB;
// Of a block: fetching and storing the sums should cost little beside the products.
constexpr std::int64_t kWantedPixels = 400;
constexpr Bytes kCopiedBytes = 144 * kKiB;  // of a thread's copy of pixels, where maps are large
constexpr std::int64_t kLeastPixels = 128;  // where channels are taken fewer at a time to make room for more
constexpr std::int64_t kFewChannels = 8;    // a tile of fewer rows wastes the processor
// From here on neighbouring pixels lie so far apart that they fall on few sets of the cache and many pages: they are
// copied close together, this many channels at a time.
constexpr std::int64_t kManyChannels = 512;
constexpr std::int64_t kChunkChannels = 64;
constexpr std::int64_t kLeastChunk = 16;
constexpr Bytes kHeldBytes = 256 * kKiB;  // of a thread's copies of x: with the sums, inside the second-level cache
constexpr std::int64_t kMostHeld = 8;
constexpr std::int64_t kHeldPart = 16;  // of x and dy that all threads' copies may be

inline Bytes most_held(Bytes operands, int threads, Bytes most) {
  return smaller(most, operands / kHeldPart / threads);
}

// What becomes of the gradient: it is stored, added to operand 0, or applied to the first operands by the rule that an
// attribute names.
enum class WeightEnding : std::uint8_t { stores, adds, updates };

struct WeightPlan : KernelState {
  ConvShape shape;
  BandMaker maker;
  BandSize band;
  std::int64_t images = 1;  // in a block, if it holds whole images
  std::int64_t chunk = 0;   // channels that are taken together
  std::int64_t held = 1;    // chunks that are copied at once, so that a copy of dy serves them all
  int pixel_parts = 1;      // threads that share out the pixels
  ThreadGrid grid;          // of the other threads: channels x panels
  bool is_direct = false;   // the sums are the output: f32 that nothing more is done to
  bool packs_dy = false;
  // Of a thread's part of the gradient that it sums over all pixels before it goes on, where sums are not the output
  // and threads do not share out the pixels.
  std::int64_t turn_channels = 0, turn_panels = 0;

  std::int64_t group_panels() const { return divide_up(shape.group_outs(), kTileColumns); }
  std::int64_t panel_count() const { return shape.groups * group_panels(); }
  std::int64_t panel_column(std::int64_t panel) const {
    if (panel >= panel_count()) return shape.out_channels;
    return panel / group_panels() * shape.group_outs() + panel % group_panels() * kTileColumns;
  }
  std::int64_t panel_columns(std::int64_t panel) const {
    return smaller(kTileColumns, shape.group_outs() - panel % group_panels() * kTileColumns);
  }

  bool sums_in_turns() const { return turn_channels > 0; }
  std::int64_t channels_at_once() const { return sums_in_turns() ? turn_channels : shape.group_channels(); }
  std::int64_t panels_at_once() const { return sums_in_turns() ? turn_panels : panel_count(); }
  std::int64_t sum_rows() const { return shape.taps() * channels_at_once(); }
  int sum_sets() const { return sums_in_turns() ? threads() : pixel_parts; }
  std::int64_t sum_columns() const {
    return is_direct ? shape.out_channels : smaller(shape.out_channels, panels_at_once() * kTileColumns);
  }
  std::int64_t sum_elements() const { return is_direct ? 0 : round_up(sum_rows() * sum_columns(), 16); }

  // A thread's copies of what a block reads of x and dy.
  std::int64_t chunk_elements() const { return round_up(images * maker.elements(band.rows, band.columns, chunk), 16); }
  std::int64_t x_elements() const { return held * chunk_elements(); }
  std::int64_t dy_elements() const { return packs_dy ? images * band.rows * units_of(band.columns) * kTileColumns : 0; }
  std::int64_t copied_elements() const { return x_elements() + dy_elements(); }
  std::int64_t thread_elements() const { return round_up(copied_elements(), 16) + maker.norm.elements(); }

  // Depthwise nothing is copied, and threads that share out the channels of a part share its coefficients.
  std::int64_t buffer_elements() const {
    return shape.is_depthwise() ? pixel_parts * maker.norm.elements() : threads() * thread_elements();
  }

  // With few channels a tile takes the taps of a kernel row together: they lie side by side in a band that is padded.
  bool joins_taps() const {
    return shape.group_channels() < kFewChannels && shape.dilation == 1 && shape.kernel_width > 1 && grid.rows == 1;
  }
  std::int64_t block_pixels() const { return images * band.rows * band.columns; }
  int threads() const { return pixel_parts * grid.rows * grid.columns; }
};

inline Bytes gradient_bytes(const ConvShape& s) { return s.taps() * s.group_channels() * s.out_channels * 4; }

inline void plan_weight_threads(WeightPlan& plan, int threads, Bytes operands) {
  const ConvShape& s = plan.shape;
  const Bytes gradient = gradient_bytes(s);
  if (gradient <= kPartialBytes || s.is_depthwise()) {
    plan.pixel_parts = static_cast<int>(smaller(threads, s.batch * s.out_height));
    if (s.is_depthwise())
      plan.pixel_parts = static_cast<int>(smaller(plan.pixel_parts, larger(1, operands / kPartialPart / gradient)));
  } else {
    plan.grid = choose_grid(divide_up(s.group_channels(), kFewChannels), plan.panel_count(), threads);
  }
}

// A nearly square piece of a thread's part of the gradient, so that copies of x and dy serve as many sums as can be
// held. Where few pixels are summed, whole rows of what the sums are applied to count for more.
inline void plan_turns(WeightPlan& plan, Bytes sums) {
  const std::int64_t most_channels = divide_up(plan.shape.group_channels(), plan.grid.rows);
  const std::int64_t most_panels = divide_up(plan.panel_count(), plan.grid.columns);
  const std::int64_t elements = sums / 4 / plan.shape.taps();
  const bool is_wide = plan.shape.batch * plan.shape.out_height * plan.shape.out_width < kLeastPixels;
  std::int64_t panels = 1;
  if (is_wide) panels = larger(1, smaller(most_panels, elements / (kLeastChunk * kTileColumns)));
  while (!is_wide && panels < most_panels && panels * panels * kTileColumns * kTileColumns < elements) ++panels;
  const std::int64_t channels = larger(kLeastChunk, elements / (panels * kTileColumns));
  const std::int64_t turns = divide_up(most_channels, channels);
  plan.turn_channels = divide_up(most_channels, turns);
  plan.turn_panels = smaller(most_panels, larger(panels, elements / (plan.turn_channels * kTileColumns)));
}

// Blocks of about kWantedPixels, less where copies would outgrow a band.
inline void plan_weight_block(WeightPlan& plan) {
  const ConvShape& s = plan.shape;
  plan.band = choose_band(plan.maker, plan.chunk);
  plan.images = 1;
  if (s.out_height == 1) {  // nearly equal parts of a long row, of whole units
    const std::int64_t parts = divide_up(plan.band.columns, kWantedPixels);
    plan.band.columns = smaller(s.out_width, round_up(divide_up(plan.band.columns, parts), kUnitElements));
  }
  const std::int64_t rows = divide_up(kWantedPixels, plan.band.columns);
  if (plan.maker.is_direct || plan.band.rows > rows) plan.band.rows = smaller(rows, s.out_height);
  plan.band.rows = divide_up(s.out_height, divide_up(s.out_height, plan.band.rows));
  if (plan.band.rows < s.out_height || plan.band.columns < s.out_width) return;
  const std::int64_t copied = plan.maker.elements(s.out_height, s.out_width, plan.chunk);
  plan.images = smaller(s.batch, divide_up(kWantedPixels, s.out_height * s.out_width));
  if (copied > 0) plan.images = larger(1, smaller(plan.images, plan.maker.most / 4 / copied));
}

// As many chunks of a thread's channels as may be held.
inline void hold_chunks(WeightPlan& plan, Bytes operands) {
  const std::int64_t wanted =
      divide_up(smaller(plan.channels_at_once(), divide_up(plan.shape.group_channels(), plan.grid.rows)), plan.chunk);
  const Bytes most = most_held(operands, plan.threads(), kHeldBytes);
  plan.held = larger(1, smaller(smaller(wanted, kMostHeld), most / 4 / plan.chunk_elements()));
}

// `stored` is the type of the output.
inline void plan_weight_gradient(WeightPlan& plan, const ConvShape& shape, const Type& x, const Type& dy,
                                 WeightEnding ending, DType stored, int threads, const SourceNorm& norm = {}) {
  plan.shape = shape;
  if (plan.shape.batch >= 2 * threads) plan.shape = with_long_rows(plan.shape);  // threads may share out images
  const ConvShape& s = plan.shape;
  BandMaker& maker = plan.maker;
  maker.rows = forward_axis(s, s.height, s.out_height, s.kernel_height);
  maker.columns = forward_axis(s, s.width, s.out_width, s.kernel_width);
  maker.channels = s.channels;
  maker.norm = norm;
  maker.joins_pixels = kHasPairs;
  const bool updates = ending == WeightEnding::updates;
  // A gradient that is never stored leaves its room to copies.
  const Bytes operands = x.bytes() + dy.bytes() + (updates ? gradient_bytes(s) : 0);
  plan_weight_threads(plan, threads, operands);
  const bool is_shared_out = plan.pixel_parts > 1 || s.is_depthwise();
  plan.is_direct = !is_shared_out && !updates && stored == DType::f32;
  if (!is_shared_out && !plan.is_direct) plan_turns(plan, updates ? kUpdateSumBytes : kSumBytes / plan.threads());
  maker.set_source(x.dtype, s.group_channels(), s.batch * s.out_height * s.out_width);
  maker.most = larger(maker.most, most_held(operands, plan.threads(), kCopiedBytes));
  maker.is_direct =
      !maker.converts(x.dtype, s.group_channels()) && s.channels * s.stride < kManyChannels && !plan.joins_taps();
  plan.packs_dy = kHasPairs || dy.dtype != DType::f32 || s.out_channels >= kManyChannels;
  plan.chunk = divide_up(s.group_channels(), plan.grid.rows);
  if (!maker.is_direct) plan.chunk = smaller(plan.chunk, kChunkChannels);
  if (plan.sums_in_turns()) plan.chunk = smaller(plan.chunk, plan.turn_channels);
  plan_weight_block(plan);
  // Windows that overlap or jump take many pixels of x for few of dy.
  const std::int64_t least = smaller(kLeastPixels, s.batch * s.out_height * s.out_width);
  while (plan.block_pixels() < least && plan.chunk >= 2 * kLeastChunk) {
    plan.chunk = divide_up(plan.chunk, 2);
    plan_weight_block(plan);
  }
  if (!maker.is_direct) hold_chunks(plan, operands);
}

struct WeightWork {
  float* sums = nullptr;     // (sum_sets, sum_rows, sum_columns)
  float* buffers = nullptr;  // (threads, thread_elements); depthwise (pixel_parts, coefficients of the norm)
  Bytes bytes = 0;
};

inline WeightWork carve_weight_work(const WeightPlan& plan, std::byte* base) {
  Carver carver(base);
  WeightWork work;
  work.sums = carver.take<float>(plan.sum_sets() * plan.sum_elements());
  work.buffers = carver.take<float>(plan.buffer_elements());
  work.bytes = carver.used();
  return work;
}

}  // namespace thimble::kernels::THIMBLE_ISA
