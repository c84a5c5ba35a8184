// Small JPEG and PNG files for the tests of decoders, made by the libraries' own encoders.
#pragma once

#include <cstdint>
#include <functional>

#include "data/fake_files.h"
#include "data/framing.h"

namespace thimble::test {

struct Pixels {
  PictureSize size;
  ByteList bytes;  // (H, W, 3)

  std::uint8_t at(std::int64_t y, std::int64_t x, std::int64_t c) const {
    return bytes[static_cast<std::size_t>((y * size.width + x) * 3 + c)];
  }
};

Pixels paint(std::int64_t height, std::int64_t width,
             const std::function<int(std::int64_t y, std::int64_t x, std::int64_t c)>& colour);
Pixels paint_smooth(std::int64_t height, std::int64_t width);  // ramps, which JPEG keeps well

enum class JpegKind : std::uint8_t { baseline, progressive, two_scans, grey, cmyk };
ByteList encode_jpeg(const Pixels& pixels, JpegKind kind, int quality = 95, bool has_full_chroma = false);

enum class PngKind : std::uint8_t { rgb, rgba, grey, grey_alpha, grey1, palette, rgb16 };
// Grey kinds take the first channel, grey1 and palette its highest bit.
ByteList encode_png(const Pixels& pixels, PngKind kind, bool is_interlaced = false);

}  // namespace thimble::test
