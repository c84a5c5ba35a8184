#include "data/augment.h"

#include "base/error.h"
#include "base/random.h"

namespace thimble {
namespace {

// Mirrors an index at the first and the last element without repeating them: -1 is 1, size is size - 2.
constexpr std::int64_t reflect(std::int64_t index, std::int64_t size) {
  if (index < 0) return -index;
  return index < size ? index : 2 * size - 2 - index;
}

void put(float* out, float value) { *out = value; }
void put(BFloat16* out, float value) { *out = to_bfloat16(value); }

// Calls visit with the offset, in places, of the pixel that each place of the result shows.
template <typename Visit>
void for_each_source(const Shape& shape, const CropFlip& crop_flip, Visit visit) {
  const std::int64_t height = shape[0], width = shape[1];
  for (std::int64_t y = 0; y < height; ++y) {
    const std::int64_t row = reflect(y + crop_flip.down, height) * width;
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t column = crop_flip.mirrored ? width - 1 - x : x;
      visit(row + reflect(column + crop_flip.right, width));
    }
  }
}

template <typename T>
void write(std::span<const std::uint8_t> pixels, const Shape& shape, const CropFlip& crop_flip,
           const Normalizer& normalizer, T* out) {
  const std::int64_t channels = shape[2];
  for_each_source(shape, crop_flip, [&](std::int64_t place) {
    const std::uint8_t* pixel = pixels.data() + place * channels;
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      put(out++, normalizer.value(channel, pixel[channel]));
    }
  });
}

}  // namespace

CropFlip draw_crop_flip(std::uint64_t seed, std::int64_t epoch, std::int64_t sample) {
  const RandomKey key = random_key(seed, RandomPurpose::augment, static_cast<std::uint64_t>(epoch));
  const auto bits = random_bits(key, static_cast<std::uint64_t>(sample), 0);
  const auto offset = [](std::uint32_t word) {
    return static_cast<std::int64_t>(std::uint64_t{word} * (2 * kCropPadding + 1) >> 32) - kCropPadding;
  };
  return {offset(bits[0]), offset(bits[1]), (bits[2] >> 31) != 0};
}

Normalizer::Normalizer(const DatasetInfo& info) {
  const auto channels = static_cast<std::size_t>(info.sample_shape[2]);
  ensure(info.mean.size() == channels && info.deviation.size() == channels, info.name, ": found ", info.mean.size(),
         " means and ", info.deviation.size(), " deviations, wanted ", channels);
  values_.reserve(channels * 256);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const double mean = static_cast<double>(info.mean[channel]);
    const double deviation = static_cast<double>(info.deviation[channel]);
    for (int pixel = 0; pixel < 256; ++pixel) {
      values_.push_back(static_cast<float>((static_cast<double>(pixel) / 255.0 - mean) / deviation));
    }
  }
}

void write_image(std::span<const std::uint8_t> pixels, const Shape& shape, const CropFlip& crop_flip,
                 const Normalizer& normalizer, float* out) noexcept {
  write(pixels, shape, crop_flip, normalizer, out);
}

void write_image(std::span<const std::uint8_t> pixels, const Shape& shape, const CropFlip& crop_flip,
                 const Normalizer& normalizer, BFloat16* out) noexcept {
  write(pixels, shape, crop_flip, normalizer, out);
}

void write_mask(std::span<const std::uint8_t> mask, const Shape& shape, const CropFlip& crop_flip,
                std::int32_t* out) noexcept {
  for_each_source(shape, crop_flip, [&](std::int64_t place) { *out++ = mask[static_cast<std::size_t>(place)]; });
}

}  // namespace thimble
