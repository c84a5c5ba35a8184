// Any bytes as a picture: refused with a UserError, or a sample comes out; no more memory is taken than the workspace
// has. The first byte of the input chooses the sample's size and the framing, the rest is the file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "data/picture.h"
#include "memory_file.h"

namespace thimble::fuzz {

inline void read_as_picture(std::span<const std::uint8_t> bytes) {
  static const Shape kSamples[] = {{1, 1, 3}, {16, 16, 3}, {33, 20, 1}, {64, 64, 3}};
  constexpr Augmentation kKinds[] = {Augmentation::none, Augmentation::crop_flip, Augmentation::resized_crop};
  if (bytes.empty()) return;
  const Shape& sample = kSamples[bytes[0] & 3];
  const Framing framing = make_framing(kKinds[(bytes[0] >> 2) % 3], 1, 0, bytes[0]);
  // Anew for each input: the sanitizer then sees every byte outside.
  std::vector<std::byte> workspace(static_cast<std::size_t>(picture_workspace_bytes(sample)));
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(sample.count()));
  try {
    read_picture(memory_file(bytes.subspan(1), "input"), framing, sample, pixels, workspace, "/dev/shm");
  } catch (const UserError&) {
  }
}

}  // namespace thimble::fuzz
