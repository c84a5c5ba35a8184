// Which part of a picture becomes the sample: pictures of many sizes are brought to one. A pure function of seed,
// epoch, sample and the picture's size.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "data/augmentation.h"

namespace thimble {

struct PictureSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  friend bool operator==(const PictureSize&, const PictureSize&) = default;
};

// In pixels of the picture; edges may fall between pixels.
struct Window {
  double top = 0, left = 0, height = 0, width = 0;
};

// none: the middle. crop_flip: the same size as there, at a random place. resized_crop: a random share of the area, at
// a random place, slightly squeezed. The default frames the middle.
struct Framing {
  Augmentation augmentation = Augmentation::none;
  RandomKey key;
  std::uint64_t sample = 0;
};

Framing make_framing(Augmentation augmentation, std::uint64_t seed, std::int64_t epoch, std::int64_t sample);

// Evaluation scales the shorter side to 8/7 of the sample's (256 for 224) and takes the middle.
constexpr double kFramedShare = 7.0 / 8;

// Always within the picture.
Window window_of(const Framing& framing, PictureSize picture, PictureSize sample);

}  // namespace thimble
