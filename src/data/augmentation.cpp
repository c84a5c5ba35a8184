#include "data/augmentation.h"

#include <array>

namespace thimble {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"none", "crop-flip", "resized-crop"};

}  // namespace

std::string_view name_of(Augmentation augmentation) { return kNames[static_cast<std::size_t>(augmentation)]; }

std::optional<Augmentation> augmentation_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Augmentation>(i);
  }
  return std::nullopt;
}

}  // namespace thimble
