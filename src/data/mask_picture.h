// From a PNG whose values are classes to the mask of a sample: each place takes the nearest pixel of the window that
// the framing chooses. Decoded row by row in a fixed workspace, whatever the file is or claims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "data/file.h"
#include "data/framing.h"

namespace thimble {

struct MaskRequest {
  Framing framing;      // as its picture's
  PictureSize picture;  // the size of its picture, which the mask must have
  PictureSize sample;
  std::int64_t classes = 0;
};

// `mask` is (H, W). UserError names the file where it is damaged, no PNG of grey or palette values up to 8 bits, of
// another size than its picture, or holds a value that is no class.
void read_mask(const InputFile& file, const MaskRequest& request, std::span<std::uint8_t> mask,
               std::span<std::byte> workspace);

}  // namespace thimble
