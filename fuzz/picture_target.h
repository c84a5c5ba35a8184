// Any bytes as a picture, and as a mask: refused with a UserError, or a sample comes out; no more memory is taken than
// the workspace has. The first byte of the input chooses the sample's size and the framing, the rest is the file.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "data/mask_picture.h"
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
    const InputFile file = memory_file(bytes.subspan(1), "input");
    const PictureSize size = read_picture(file, framing, sample, pixels, workspace, "/dev/shm");
    // What is a picture may be a mask as well: its own.
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(sample[0] * sample[1]));
    read_mask(file, {.framing = framing, .picture = size, .sample = {sample[0], sample[1]}, .classes = 200}, mask,
              workspace);
  } catch (const UserError&) {
  }
}

}  // namespace thimble::fuzz
