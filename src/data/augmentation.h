// What is done at random to training samples, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace thimble {

// crop_flip: a crop at a random place (of samples of one size, reflect-padded by kCropPadding, to their old size), and
// mirrored left to right every second time. resized_crop: pictures only; a crop of random size and shape, mirrored
// likewise.
enum class Augmentation : std::uint8_t { none, crop_flip, resized_crop };

constexpr std::int64_t kCropPadding = 4;

std::string_view name_of(Augmentation augmentation);  // "none", "crop-flip", "resized-crop"
std::optional<Augmentation> augmentation_from_name(std::string_view name);

}  // namespace thimble
