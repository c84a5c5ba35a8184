// The part of a source tensor that a block of outputs reads, as f32 with the padding written out, so that the inner
// loop knows neither borders nor element types nor norms. Where nothing has to be converted, and the inner loop can
// leave out what lies beyond the border, the source itself serves.
#pragma once

#include "kernels/cpu/conv_norm.h"
#include "kernels/cpu/conv_shape.h"
#include "kernels/cpu/tile_border.h"

namespace thimble::kernels::THIMBLE_ISA {

constexpr Bytes kBandBytes = 96 * kKiB;  // what a block of outputs should read: well inside a core's second-level cache
constexpr Bytes kConvertedBytes = 48 * kKiB;  // the same where memory was worth a narrower type: every thread copies it
constexpr Bytes kFewBytes = 16 * kKiB;        // and where there is little to compute from it
constexpr std::int64_t kFewOutputs = 256;     // positions of all images: beside these, memory weighs more than speed

// Block of outputs: positions [begin, end) of u along each axis, and the channels they read.
struct BandBlock {
  std::int64_t first_image = 0, images = 1;
  Range rows, columns, channels;
};

struct Band {
  const float* data = nullptr;                 // the first position that the block's first output reads
  std::int64_t image = 0, row = 0, pixel = 0;  // strides from one source position to the next
  std::int64_t row_step = 0, pixel_step = 0;   // from one output to the next
};

struct BandMaker {
  Axis rows, columns;
  std::int64_t channels = 0;  // of the source tensor
  bool is_direct = false;
  Bytes most = kBandBytes;
  SourceNorm norm;

  void set_source(DType dtype, std::int64_t outputs) {
    if (converts(dtype)) most = outputs <= kFewOutputs ? kFewBytes : kConvertedBytes;
  }
  bool converts(DType dtype) const { return dtype != DType::f32 || norm.exists; }

  // With one tap along an axis only every stride-th position is read: the others are left out.
  static std::int64_t skip(const Axis& a) { return a.low == a.high ? a.stride : 1; }
  static std::int64_t extent(const Axis& a, std::int64_t outputs) {
    return ((outputs - 1) * a.stride + a.high - a.low) / skip(a) + 1;
  }
  // Elements that a block of outputs reads, and those of them that have to be copied.
  std::int64_t span(std::int64_t row_count, std::int64_t column_count, std::int64_t channel_count) const {
    return extent(rows, row_count) * extent(columns, column_count) * channel_count;
  }
  std::int64_t elements(std::int64_t row_count, std::int64_t column_count, std::int64_t channel_count) const {
    return is_direct ? 0 : span(row_count, column_count, channel_count);
  }

  Band make(const TensorView& source, const BandBlock& block, float* buffer, BandNorm& with) const;
};

// How much of the output a band serves at once: whole rows if they fit, as many as fit.
struct BandSize {
  std::int64_t rows = 1, columns = 1;
};

inline BandSize choose_band(const BandMaker& maker, std::int64_t channels) {
  const std::int64_t row_count = maker.rows.end - maker.rows.begin;
  const std::int64_t most = maker.most / 4;
  BandSize size = {1, maker.columns.end - maker.columns.begin};
  while (!maker.is_direct && size.columns > 64 && maker.span(1, size.columns, channels) > 2 * most) {
    size.columns = divide_up(size.columns, 2);
  }
  while (size.rows < row_count && maker.span(size.rows + 1, size.columns, channels) <= most) ++size.rows;
  // Nearly equal bands: 8 rows are 4 + 4, not 7 + 1.
  size.rows = divide_up(row_count, divide_up(row_count, size.rows));
  return size;
}

// One row of source positions first, first + skip, ...; those outside are zero.
template <typename T>
void pack_row(float* to, const T* source_row, const Axis& columns, std::int64_t first, std::int64_t extent,
              std::int64_t channels, Range chosen, const BandNorm& with) noexcept {
  const std::int64_t skip = BandMaker::skip(columns), count = chosen.end - chosen.begin;
  const std::int64_t begin = smaller(extent, larger(0, divide_up(-first, skip)));
  const std::int64_t end = larger(begin, smaller(extent, divide_up(columns.source - first, skip)));
  fill_zero(to, begin * count);
  if (with.exists()) {
    with.copy(to + begin * count, source_row + (first + begin * skip) * channels + chosen.begin, end - begin,
              skip * channels, chosen);
  } else if (skip == 1 && count == channels) {
    copy_to_f32(to + begin * count, source_row + (first + begin) * channels, (end - begin) * count);
  } else {
    for (std::int64_t j = begin; j < end; ++j) {
      copy_to_f32(to + j * count, source_row + (first + j * skip) * channels + chosen.begin, count);
    }
  }
  fill_zero(to + end * count, (extent - end) * count);
}

inline Band BandMaker::make(const TensorView& source, const BandBlock& block, float* buffer, BandNorm& with) const {
  const std::int64_t first_row = block.rows.begin * rows.stride + rows.low;
  const std::int64_t first_column = block.columns.begin * columns.stride + columns.low;
  const std::int64_t source_row = columns.source * channels;
  if (is_direct) {
    const float* data = source.as<const float>() + (block.first_image * rows.source + first_row) * source_row +
                        first_column * channels + block.channels.begin;
    return {data, rows.source * source_row, source_row, channels, rows.stride * source_row, columns.stride * channels};
  }
  const std::int64_t row_extent = extent(rows, block.rows.end - block.rows.begin);
  const std::int64_t column_extent = extent(columns, block.columns.end - block.columns.begin);
  const std::int64_t pixel = block.channels.end - block.channels.begin, row = column_extent * pixel;
  float* to = buffer;
  for (std::int64_t b = block.first_image; b < block.first_image + block.images; ++b) {
    with.enter(b);
    for (std::int64_t i = 0; i < row_extent; ++i, to += row) {
      const std::int64_t h = first_row + i * skip(rows);
      if (h < 0 || h >= rows.source) {
        fill_zero(to, row);
        continue;
      }
      with_element(source.dtype, [&](auto element) {
        using T = decltype(element);
        pack_row(to, source.as<const T>() + (b * rows.source + h) * source_row, columns, first_column, column_extent,
                 channels, block.channels, with);
      });
    }
  }
  return {buffer, row_extent * row, row, pixel, rows.stride / skip(rows) * row, columns.stride / skip(columns) * pixel};
}

}  // namespace thimble::kernels::THIMBLE_ISA
