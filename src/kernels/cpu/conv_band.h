// The part of a source tensor that a block of outputs reads, in units with the padding written out, so that the inner
// loop knows neither borders nor element types nor norms. Where nothing has to be converted, and the inner loop can
// leave out what lies beyond the border, the source itself serves.
#pragma once

#include "kernels/cpu/conv_norm.h"
#include "kernels/cpu/conv_shape.h"
#include "kernels/cpu/tile_border.h"
#include "kernels/cpu/unit_copy.h"

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
  const Unit* data = nullptr;                  // the first position that the block's first output reads
  std::int64_t image = 0, row = 0, pixel = 0;  // strides from one source position to the next
  std::int64_t row_step = 0, pixel_step = 0;   // from one output to the next, or from one pair of outputs
};

struct BandMaker {
  Axis rows, columns;
  std::int64_t channels = 0;  // of the source tensor
  bool is_direct = false;
  // A unit joins what neighbouring outputs of a row read of one channel, for sums over pixels; else neighbouring
  // channels of one position.
  bool joins_pixels = false;
  Bytes most = kBandBytes;
  SourceNorm norm;

  void set_source(DType dtype, std::int64_t group_channels, std::int64_t outputs) {
    if (converts(dtype, group_channels)) most = outputs <= kFewOutputs ? kFewBytes : kConvertedBytes;
  }
  bool converts(DType dtype, std::int64_t group_channels) const {
    return dtype != kUnitDType || norm.exists || joins_pixels || group_channels % kUnitElements != 0;
  }

  // With one tap along an axis only every stride-th position is read: the others are left out.
  static std::int64_t skip(const Axis& a) { return a.low == a.high ? a.stride : 1; }
  static std::int64_t extent(const Axis& a, std::int64_t outputs) {
    return ((outputs - 1) * a.stride + a.high - a.low) / skip(a) + 1;
  }
  // Joined pixels overlap, so that every tap finds its pairs; with one tap they need not.
  std::int64_t joined() const { return joins_pixels && columns.low == columns.high ? kUnitElements : 1; }
  std::int64_t units(std::int64_t channel_count) const {
    return joins_pixels ? channel_count : units_of(channel_count);
  }
  // Units that a block of outputs reads, and those of them that have to be copied.
  std::int64_t span(std::int64_t row_count, std::int64_t column_count, std::int64_t channel_count) const {
    return extent(rows, row_count) * divide_up(extent(columns, column_count), joined()) * units(channel_count);
  }
  std::int64_t elements(std::int64_t row_count, std::int64_t column_count, std::int64_t channel_count) const {
    return is_direct ? 0 : span(row_count, column_count, channel_count);
  }

  Band make(const TensorView& source, const BandBlock& block, float* buffer, BandNorm& with) const;
  FetchQueue fetch(const TensorView& source, const BandBlock& block, const BandBlock& before) const;
};

// How much of the output a band serves at once: whole rows if they fit, as many as fit.
struct BandSize {
  std::int64_t rows = 1, columns = 1;
};

inline BandSize choose_band(const BandMaker& maker, std::int64_t channels) {
  const std::int64_t row_count = maker.rows.end - maker.rows.begin;
  const std::int64_t most = maker.most / 4;
  BandSize size = {1, maker.columns.end - maker.columns.begin};
  const std::int64_t few_columns = kHasPairs || row_count == 1 ? 2 * kTileRows : 64;  // long rows may be of deep maps
  while (!maker.is_direct && size.columns > few_columns && maker.span(1, size.columns, channels) > 2 * most) {
    size.columns = divide_up(size.columns, 2);
  }
  while (size.rows < row_count && maker.span(size.rows + 1, size.columns, channels) <= most) ++size.rows;
  // Nearly equal bands: 8 rows are 4 + 4, not 7 + 1.
  size.rows = divide_up(row_count, divide_up(row_count, size.rows));
  return size;
}

// Source positions first, first + skip, ... of one row. Of `extent` positions those in [inside.begin, inside.end) lie
// inside the source.
struct BandRow {
  std::int64_t first = 0, skip = 1, extent = 0;
  Range inside;

  BandRow(const Axis& columns, std::int64_t first_position, std::int64_t count)
      : first(first_position), skip(BandMaker::skip(columns)), extent(count) {
    inside.begin = smaller(extent, larger(0, divide_up(-first, skip)));
    inside.end = larger(inside.begin, smaller(extent, divide_up(columns.source - first, skip)));
  }
};

// The positions of a row; those outside are zero.
template <typename T>
void pack_row(Unit* to, const T* source_row, const BandRow& row, std::int64_t channels, Range chosen,
              const BandNorm& with) noexcept {
  const std::int64_t count = chosen.end - chosen.begin, pixel = units_of(count), stored = pixel * kUnitElements;
  const std::int64_t begin = row.inside.begin, end = row.inside.end;
  auto* elements = reinterpret_cast<UnitElement*>(to);
  fill_zero(to, begin * pixel);
  if (stored > count) fill_zero(to + begin * pixel, (end - begin) * pixel);
  if (with.exists()) {
    with.copy(elements + begin * stored, stored, source_row + (row.first + begin * row.skip) * channels + chosen.begin,
              end - begin, row.skip * channels, chosen);
  } else if (row.skip == 1 && count == channels && stored == count) {
    copy_elements(elements + begin * count, source_row + (row.first + begin) * channels, (end - begin) * count);
  } else {
    for (std::int64_t j = begin; j < end; ++j) {
      copy_elements(elements + j * stored, source_row + (row.first + j * row.skip) * channels + chosen.begin, count);
    }
  }
  fill_zero(to + end * pixel, (row.extent - end) * pixel);
}

// Every position that is even joined with the next one, where all lie inside the source. A few positions at a time: a
// vector of channels takes half a line of the cache, and the other half should still be near when its turn comes.
template <typename T>
void pack_joined_pixels(Unit* to, const T* source, std::int64_t step, std::int64_t count, Range chosen,
                        const BandNorm& with) noexcept {
  constexpr std::int64_t kNear = 32;
  const std::int64_t pixel = chosen.end - chosen.begin;
  if (!with.exists()) return join_rows(to, pixel, source, step, count, pixel);
  for (std::int64_t first = 0; first < count; first += kNear) {
    const std::int64_t end = smaller(first + kNear, count);
    with.for_columns(
        chosen, [&](std::int64_t c, auto lanes, auto change) __attribute__((always_inline)) {
          const T* from = source + first * step + c;
          Unit* unit = to + first / kUnitElements * pixel + c;
          std::int64_t p = first;
          for (; p + 1 < end; p += kUnitElements, from += kUnitElements * step, unit += pixel)
            store(unit, join(change(load(from, lanes)), change(load(from + step, lanes))), lanes);
          if (p < end) store(unit, join(change(load(from, lanes)), zero()), lanes);
        });
  }
}

// Position p of a row joined with position p + partner, for all p; with `joined` > 1, for every joined-th p.
template <typename T>
void pack_joined_row(Unit* to, const T* source_row, const BandRow& row, std::int64_t partner, std::int64_t joined,
                     std::int64_t channels, Range chosen, const BandNorm& with) noexcept {
  const std::int64_t pixel = chosen.end - chosen.begin, step = row.skip * channels;
  const T* source = source_row + row.first * channels + chosen.begin;
  if (joined > 1 && row.inside.begin == 0 && row.inside.end == row.extent) {
    return pack_joined_pixels(to, source, step, row.extent, chosen, with);
  }
  with.for_columns(
      chosen, [&](std::int64_t c, auto lanes, auto change) __attribute__((always_inline)) {
        const auto value_at = [&](std::int64_t p) __attribute__((always_inline)) {
          return p >= row.inside.begin && p < row.inside.end ? change(load(source + p * step + c, lanes)) : zero();
        };
        if (joined > 1) {
          for (std::int64_t p = 0; p < row.extent; p += joined)
            store(to + p / joined * pixel + c, join(value_at(p), value_at(p + 1)), lanes);
          return;
        }
        for (std::int64_t first = 0; first < smaller(partner, row.extent); ++first) {
          Vec value = value_at(first);
          for (std::int64_t p = first; p < row.extent; p += partner) {
            const Vec next = value_at(p + partner);
            store(to + p * pixel + c, join(value, next), lanes);
            value = next;
          }
        }
      });
}

inline Band BandMaker::make(const TensorView& source, const BandBlock& block, float* buffer, BandNorm& with) const {
  const std::int64_t first_row = block.rows.begin * rows.stride + rows.low;
  const std::int64_t first_column = block.columns.begin * columns.stride + columns.low;
  const std::int64_t source_row = columns.source * channels;
  if (is_direct) {
    const UnitElement* data = source.as<const UnitElement>() +
                              (block.first_image * rows.source + first_row) * source_row + first_column * channels +
                              block.channels.begin;
    const std::int64_t pixel = channels / kUnitElements, row = columns.source * pixel;
    return {
        reinterpret_cast<const Unit*>(data), rows.source * row, row, pixel, rows.stride * row, columns.stride * pixel};
  }
  const std::int64_t row_extent = extent(rows, block.rows.end - block.rows.begin);
  const BandRow positions(columns, first_column, extent(columns, block.columns.end - block.columns.begin));
  const std::int64_t pixel = units(block.channels.end - block.channels.begin);
  const std::int64_t row = divide_up(positions.extent, joined()) * pixel;
  const std::int64_t partner = columns.stride / positions.skip;
  auto* to = reinterpret_cast<Unit*>(buffer);
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
        const T* from = source.as<const T>() + (b * rows.source + h) * source_row;
        if (joins_pixels) {
          pack_joined_row(to, from, positions, partner, joined(), channels, block.channels, with);
        } else {
          pack_row(to, from, positions, channels, block.channels, with);
        }
      });
    }
  }
  const std::int64_t pixel_step = joins_pixels ? partner * pixel * kUnitElements / joined() : partner * pixel;
  return {reinterpret_cast<const Unit*>(buffer), row_extent * row, row, pixel,
          rows.stride / skip(rows) * row,        pixel_step};
}

// What the band of a block is copied from and that of the block before it was not, for tiles of that one to fetch while
// they multiply; nothing where it does not lie in one piece.
inline FetchQueue BandMaker::fetch(const TensorView& source, const BandBlock& block, const BandBlock& before) const {
  const auto rows_of = [&](const BandBlock& b) {
    const std::int64_t first = b.rows.begin * rows.stride + rows.low, base = b.first_image * rows.source;
    const std::int64_t end = first + (extent(rows, b.rows.end - b.rows.begin) - 1) * skip(rows) + 1;
    return Range{base + larger(first, 0), base + smaller(end, rows.source)};
  };
  const bool is_whole = block.columns.end - block.columns.begin == columns.end - columns.begin;
  const Range wanted = rows_of(block);
  const std::int64_t first_row = is_whole ? larger(wanted.begin, rows_of(before).end) : wanted.begin;
  if (is_direct || first_row >= wanted.end || skip(columns) > 1) return {};
  if (wanted.end - first_row > 1 && (!is_whole || skip(rows) > 1)) return {};
  const std::int64_t first_column = is_whole ? 0 : larger(0, block.columns.begin * columns.stride + columns.low);
  const std::int64_t pixels =
      is_whole ? (wanted.end - first_row) * columns.source : block.columns.end - block.columns.begin;
  const Bytes pixel = channels * bytes_of(source.dtype);
  return {.first = source.as<const std::byte>() + (first_row * columns.source + first_column) * pixel,
          .row = kLineBytes,
          .rows = divide_up(pixels * pixel, kLineBytes),
          .lines = 1};
}

}  // namespace thimble::kernels::THIMBLE_ISA
