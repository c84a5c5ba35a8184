#include "data/resample.h"

#include <algorithm>
#include <cmath>

namespace thimble {
namespace {

constexpr std::uint32_t kOne = 1U << 16;  // of a weight
constexpr int kLineShift = 9;             // from weight x pixel, 16 bits of fraction, to 7 bits
constexpr int kSumShift = 23;             // from 7 + 16 bits of fraction to none

struct Taps {
  std::int64_t begin = 0, end = 0;
  double centre = 0;
};

struct Filter {
  double begin, scale, support;  // in input places
  std::int64_t input;

  Taps taps(std::int64_t i) const {
    const double centre = begin + (static_cast<double>(i) + 0.5) * scale;
    const auto last = static_cast<double>(input);
    // A place counts if its middle lies within the support; a window at the edge keeps at least one.
    const auto from = static_cast<std::int64_t>(std::clamp(std::floor(centre - support + 0.5), 0.0, last - 1));
    const auto to = static_cast<std::int64_t>(std::clamp(std::floor(centre + support + 0.5), 1.0, last));
    return {from, std::max(to, from + 1), centre};
  }
  double weight(const Taps& taps, std::int64_t place) const {
    return std::max(0.0, 1 - std::abs(static_cast<double>(place) + 0.5 - taps.centre) / support);
  }
};

// Weights that are kOne together, to the last bit: the rounding's rest goes to the largest.
void write_weights(const Filter& filter, const Taps& taps, std::span<std::uint32_t> weights) {
  double sum = 0;
  for (std::int64_t place = taps.begin; place < taps.end; ++place) sum += filter.weight(taps, place);
  std::int64_t rest = kOne;
  for (std::int64_t place = taps.begin; place < taps.end; ++place) {
    const double share = sum > 0 ? filter.weight(taps, place) / sum : 1.0 / static_cast<double>(weights.size());
    std::uint32_t& weight = weights[static_cast<std::size_t>(place - taps.begin)];
    weight = static_cast<std::uint32_t>(share * kOne + 0.5);
    rest -= weight;
  }
  std::uint32_t& largest = *std::max_element(weights.begin(), weights.end());
  largest = static_cast<std::uint32_t>(std::max<std::int64_t>(0, largest + rest));
}

// ITU-R 601 in 16 bits.
std::uint8_t grey_of(const std::uint8_t* pixel) {
  return static_cast<std::uint8_t>((pixel[0] * 19595U + pixel[1] * 38470U + pixel[2] * 7471U + 0x8000U) >> 16);
}

}  // namespace

ResampleAxis::ResampleAxis(std::int64_t input, double begin, double length, std::int64_t output, Workspace& workspace,
                           std::string_view picture) {
  const double scale = length / static_cast<double>(output);
  const Filter filter{begin, scale, std::max(scale, 1.0), input};
  first_ = workspace.take_array<std::int32_t>(output, picture);
  offset_ = workspace.take_array<std::int32_t>(output + 1, picture);
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < output; ++i) {
    const Taps taps = filter.taps(i);
    first_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(taps.begin);
    total += taps.end - taps.begin;
    offset_[static_cast<std::size_t>(i) + 1] = static_cast<std::int32_t>(total);
  }
  weights_ = workspace.take_array<std::uint32_t>(total, picture);
  for (std::int64_t i = 0; i < output; ++i) {
    const auto at = static_cast<std::size_t>(offset_[static_cast<std::size_t>(i)]);
    write_weights(filter, filter.taps(i), weights_.subspan(at, weights(i).size()));
  }
}

Resampler::Resampler(PictureSize picture, const Window& window, const Shape& sample, Workspace& workspace,
                     std::string_view name)
    : channels_(sample[2]),
      rows_(picture.height, window.top, window.height, sample[0], workspace, name),
      columns_(picture.width, window.left, window.width, sample[1], workspace, name),
      line_(workspace.take_array<std::uint32_t>(sample[1] * sample[2], name)),
      sums_(workspace.take_array<std::uint32_t>(sample.count(), name)) {
  ensure(channels_ == 1 || channels_ == 3, "resample: ", channels_, " channels");
}

void Resampler::sum_columns(const PixelRow& row) {
  const std::int64_t step = row.step, channels = channels_;
  std::uint32_t* out = line_.data();
  for (std::int64_t x = 0; x < columns_.size(); ++x, out += channels) {
    const std::span<const std::uint32_t> weights = columns_.weights(x);
    const std::int64_t first = columns_.first(x), end = columns_.end(x);
    // The first column of the part that is not left of `first`.
    const std::int64_t skipped = first > row.column ? (first - row.column + step - 1) / step : 0;
    const std::uint8_t* pixel = row.pixels.data() + skipped * channels;
    std::uint32_t sums[3] = {};
    for (std::int64_t place = row.column + skipped * step; place < end; place += step, pixel += channels) {
      const std::uint32_t weight = weights[static_cast<std::size_t>(place - first)];
      for (std::int64_t c = 0; c < channels; ++c) sums[c] += weight * pixel[c];
    }
    for (std::int64_t c = 0; c < channels; ++c) out[c] = (sums[c] + (1U << (kLineShift - 1))) >> kLineShift;
  }
}

void Resampler::add(const PixelRow& row) {
  // The sample's rows that this one adds to lie together, since windows begin and end in rising order.
  std::int64_t low = 0, high = rows_.size();
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    rows_.end(middle) > row.row ? high = middle : low = middle + 1;
  }
  if (low == rows_.size() || rows_.first(low) > row.row) return;
  if (channels_ == 1) {
    for (std::size_t i = 0; 3 * i < row.pixels.size(); ++i) row.pixels[i] = grey_of(&row.pixels[3 * i]);
  }
  sum_columns(row);
  for (std::int64_t y = low; y < rows_.size() && rows_.first(y) <= row.row; ++y) {
    const std::uint32_t weight = rows_.weights(y)[static_cast<std::size_t>(row.row - rows_.first(y))];
    std::uint32_t* sums = sums_.data() + y * static_cast<std::int64_t>(line_.size());
    for (std::size_t i = 0; i < line_.size(); ++i) sums[i] += weight * line_[i];
  }
}

void Resampler::write(std::span<std::uint8_t> sample) const {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sample[i] = static_cast<std::uint8_t>((sums_[i] + (1U << (kSumShift - 1))) >> kSumShift);
  }
}

std::int64_t resample_bytes(const Shape& sample) {
  return (sample.count() + sample[1] * sample[2]) * static_cast<std::int64_t>(sizeof(std::uint32_t));
}

}  // namespace thimble
