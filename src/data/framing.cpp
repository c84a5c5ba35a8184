#include "data/framing.h"

#include <algorithm>
#include <cmath>

namespace thimble {
namespace {

// Szegedy et al. 2014 as torchvision's RandomResizedCrop has it.
constexpr int kAttempts = 10;
constexpr double kLeastArea = 0.08;
constexpr double kMostRatio = 4.0 / 3;  // of width to height, and its inverse

// The largest window of the sample's shape that is `share` of the picture, at `down` and `right` of the room it has.
Window place_window(PictureSize picture, PictureSize sample, double share, double down, double right) {
  const auto height = static_cast<double>(picture.height), width = static_cast<double>(picture.width);
  const auto rows = static_cast<double>(sample.height), columns = static_cast<double>(sample.width);
  const double scale = share * std::min(height / rows, width / columns);  // picture's pixels for one of the sample's
  Window window{.height = rows * scale, .width = columns * scale};
  window.top = down * (height - window.height);
  window.left = right * (width - window.width);
  return window;
}

Window resized_window(const Framing& framing, PictureSize picture, PictureSize sample) {
  const double area = static_cast<double>(picture.height) * static_cast<double>(picture.width);
  for (std::uint64_t attempt = 1; attempt <= kAttempts; ++attempt) {
    const auto bits = random_bits(framing.key, framing.sample, attempt);
    const double part = area * (kLeastArea + (1 - kLeastArea) * to_unit_double(bits[0]));
    const double ratio = std::exp(std::log(kMostRatio) * (2 * to_unit_double(bits[1]) - 1));
    const auto height = static_cast<std::int64_t>(std::sqrt(part / ratio) + 0.5);
    const auto width = static_cast<std::int64_t>(std::sqrt(part * ratio) + 0.5);
    if (height < 1 || height > picture.height || width < 1 || width > picture.width) continue;
    const auto place = [](std::uint32_t word, std::int64_t room) {
      return static_cast<double>(std::uint64_t{word} * static_cast<std::uint64_t>(room + 1) >> 32);
    };
    return {.top = place(bits[2], picture.height - height),
            .left = place(bits[3], picture.width - width),
            .height = static_cast<double>(height),
            .width = static_cast<double>(width)};
  }
  return place_window(picture, sample, 1, 0.5, 0.5);
}

}  // namespace

Framing make_framing(Augmentation augmentation, std::uint64_t seed, std::int64_t epoch, std::int64_t sample) {
  return {augmentation, random_key(seed, RandomPurpose::augment, static_cast<std::uint64_t>(epoch)),
          static_cast<std::uint64_t>(sample)};
}

Window window_of(const Framing& framing, PictureSize picture, PictureSize sample) {
  if (framing.augmentation == Augmentation::resized_crop) return resized_window(framing, picture, sample);
  if (framing.augmentation == Augmentation::none) return place_window(picture, sample, kFramedShare, 0.5, 0.5);
  const auto bits = random_bits(framing.key, framing.sample, 0);
  return place_window(picture, sample, kFramedShare, to_unit_double(bits[0]), to_unit_double(bits[1]));
}

}  // namespace thimble
