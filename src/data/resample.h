// Scales a window of a picture to a sample's size while the picture streams by, row after row in any order and in
// parts: every row adds its share to the sample. The filter is a triangle as wide as the scale (bilinear when
// enlarging), in integers, so the order changes nothing but the rounding of partial rows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/shape.h"
#include "data/framing.h"
#include "data/workspace.h"

namespace thimble {

// Output place i is the sum of inputs first[i] .. first[i] + count - 1, weighted; the weights are of 1 << 16 together.
class ResampleAxis {
 public:
  // `begin` and `length` of the window along an input of `input` places.
  ResampleAxis(std::int64_t input, double begin, double length, std::int64_t output, Workspace& workspace,
               std::string_view picture);

  std::int64_t size() const { return static_cast<std::int64_t>(first_.size()); }
  std::int64_t first(std::int64_t i) const { return first_[static_cast<std::size_t>(i)]; }
  std::span<const std::uint32_t> weights(std::int64_t i) const {
    const auto begin = static_cast<std::size_t>(offset_[static_cast<std::size_t>(i)]);
    return weights_.subspan(begin, static_cast<std::size_t>(offset_[static_cast<std::size_t>(i) + 1]) - begin);
  }
  std::int64_t end(std::int64_t i) const { return first(i) + static_cast<std::int64_t>(weights(i).size()); }

 private:
  std::span<std::int32_t> first_;   // (output)
  std::span<std::int32_t> offset_;  // (output + 1), into weights_
  std::span<std::uint32_t> weights_;
};

// Part of a row: pixels at columns `column`, `column` + `step`, ... as they came.
struct PixelRow {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t step = 1;
  std::span<std::uint8_t> pixels;  // (n, 3), red, green, blue, or (n) plain values; may be overwritten
};

class Resampler {
 public:
  // Of a sample (H, W, 3), or (H, W, 1) for grey. UserError names the picture if the workspace does not suffice.
  Resampler(PictureSize picture, const Window& window, const Shape& sample, Workspace& workspace,
            std::string_view name);

  void add(const PixelRow& row);
  void write(std::span<std::uint8_t> sample) const;  // once all rows were added

 private:
  void sum_columns(const PixelRow& row);

  std::int64_t channels_;
  ResampleAxis rows_, columns_;
  std::span<std::uint32_t> line_;  // (W, C), one input row with the sample's columns, in 1/128
  std::span<std::uint32_t> sums_;  // (H, W, C), in 1/(128 * 65536)
};

// What a sample's sums take of the workspace; the axes, which follow the picture, come on top.
std::int64_t resample_bytes(const Shape& sample);

}  // namespace thimble
