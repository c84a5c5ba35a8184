// From the bytes of a sample to the numbers a network is fed: random crop and flip, then normalisation per channel.
// Random numbers are keyed by seed, epoch and the sample's place in the data set, so a sample looks the same in
// whatever batch, order or thread it is made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/bfloat16.h"
#include "base/shape.h"
#include "data/augmentation.h"
#include "data/dataset.h"

namespace thimble {

// One draw of crop_flip; the default leaves the image as it is.
struct CropFlip {
  std::int64_t down = 0;  // where the crop begins in the unpadded image, -kCropPadding to kCropPadding
  std::int64_t right = 0;
  bool mirrored = false;
};

CropFlip draw_crop_flip(std::uint64_t seed, std::int64_t epoch, std::int64_t sample);

// (pixel / 255 - mean) / deviation of every possible pixel, computed in double: 1 KiB a channel.
class Normalizer {
 public:
  explicit Normalizer(const DatasetInfo& info);

  float value(std::int64_t channel, std::uint8_t pixel) const {
    return values_[static_cast<std::size_t>(channel * 256 + pixel)];
  }

 private:
  std::vector<float> values_;  // (C, 256)
};

// pixels and out are (H, W, C).
void write_image(std::span<const std::uint8_t> pixels, const Shape& shape, const CropFlip& crop_flip,
                 const Normalizer& normalizer, float* out) noexcept;
void write_image(std::span<const std::uint8_t> pixels, const Shape& shape, const CropFlip& crop_flip,
                 const Normalizer& normalizer, BFloat16* out) noexcept;

// The classes (H, W) of an image (H, W, C), moved as its pixels are.
void write_mask(std::span<const std::uint8_t> mask, const Shape& shape, const CropFlip& crop_flip,
                std::int32_t* out) noexcept;

}  // namespace thimble
