#include "data/fake_pictures.h"

#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>
#include <png.h>

#include <algorithm>

#include "base/error.h"

namespace thimble::test {
namespace {

void set_up(jpeg_compress_struct& encoder, const Pixels& pixels, JpegKind kind, int quality, bool has_full_chroma) {
  encoder.image_width = static_cast<JDIMENSION>(pixels.size.width);
  encoder.image_height = static_cast<JDIMENSION>(pixels.size.height);
  encoder.input_components = kind == JpegKind::grey ? 1 : kind == JpegKind::cmyk ? 4 : 3;
  encoder.in_color_space = kind == JpegKind::grey ? JCS_GRAYSCALE : kind == JpegKind::cmyk ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, quality, TRUE);
  if (has_full_chroma) encoder.comp_info[0].h_samp_factor = encoder.comp_info[0].v_samp_factor = 1;
  if (kind == JpegKind::progressive) jpeg_simple_progression(&encoder);
}

// The bytes of one row as the encoder wants them. Adobe's CMYK is inverted: black as 255 - k.
ByteList row_of(const Pixels& pixels, std::int64_t y, JpegKind kind) {
  ByteList row;
  for (std::int64_t x = 0; x < pixels.size.width; ++x) {
    const std::int64_t channels = kind == JpegKind::grey ? 1 : 3;
    for (std::int64_t c = 0; c < channels; ++c) row.push_back(pixels.at(y, x, c));
    if (kind == JpegKind::cmyk) row.push_back(255);
  }
  return row;
}

int colour_type_of(PngKind kind) {
  switch (kind) {
    case PngKind::rgb:
    case PngKind::rgb16: return PNG_COLOR_TYPE_RGB;
    case PngKind::rgba: return PNG_COLOR_TYPE_RGB_ALPHA;
    case PngKind::grey:
    case PngKind::grey1: return PNG_COLOR_TYPE_GRAY;
    case PngKind::grey_alpha: return PNG_COLOR_TYPE_GRAY_ALPHA;
    case PngKind::palette: return PNG_COLOR_TYPE_PALETTE;
  }
  return 0;
}

ByteList png_row_of(const Pixels& pixels, std::int64_t y, PngKind kind) {
  ByteList row;
  const bool is_bits = kind == PngKind::grey1 || kind == PngKind::palette;
  for (std::int64_t x = 0; x < pixels.size.width; ++x) {
    if (is_bits) {
      if (x % 8 == 0) row.push_back(0);
      row.back() = static_cast<std::uint8_t>(row.back() | (pixels.at(y, x, 0) >> 7) << (7 - x % 8));
      continue;
    }
    const std::int64_t channels = kind == PngKind::grey || kind == PngKind::grey_alpha ? 1 : 3;
    for (std::int64_t c = 0; c < channels; ++c) {
      row.push_back(pixels.at(y, x, c));
      if (kind == PngKind::rgb16) row.push_back(pixels.at(y, x, c));
    }
    if (kind == PngKind::rgba || kind == PngKind::grey_alpha) row.push_back(static_cast<std::uint8_t>(x));
  }
  return row;
}

}  // namespace

Pixels paint(std::int64_t height, std::int64_t width,
             const std::function<int(std::int64_t y, std::int64_t x, std::int64_t c)>& colour) {
  Pixels pixels{{height, width}, {}};
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < 3; ++c) pixels.bytes.push_back(static_cast<std::uint8_t>(colour(y, x, c)));
    }
  }
  return pixels;
}

Pixels paint_smooth(std::int64_t height, std::int64_t width) {
  return paint(height, width, [&](std::int64_t y, std::int64_t x, std::int64_t c) {
    const std::int64_t down = 200 * y / height, right = 200 * x / width;
    return static_cast<int>(25 + (c == 0 ? down : c == 1 ? right : (down + right) / 2));
  });
}

ByteList encode_jpeg(const Pixels& pixels, JpegKind kind, int quality, bool has_full_chroma) {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &bytes, &size);
  set_up(encoder, pixels, kind, quality, has_full_chroma);
  // Sequential, but each component in a scan of its own: needs all coefficients just as a progressive picture does.
  static const jpeg_scan_info kScans[] = {
      {1, {0, 0, 0, 0}, 0, 63, 0, 0}, {1, {1, 0, 0, 0}, 0, 63, 0, 0}, {1, {2, 0, 0, 0}, 0, 63, 0, 0}};
  if (kind == JpegKind::two_scans) {
    encoder.scan_info = kScans;
    encoder.num_scans = 3;
  }
  jpeg_start_compress(&encoder, TRUE);
  for (std::int64_t y = 0; y < pixels.size.height; ++y) {
    ByteList row = row_of(pixels, y, kind);
    JSAMPROW rows = row.data();
    jpeg_write_scanlines(&encoder, &rows, 1);
  }
  jpeg_finish_compress(&encoder);
  jpeg_destroy_compress(&encoder);
  ByteList file(bytes, bytes + size);
  std::free(bytes);
  return file;
}

ByteList encode_png(const Pixels& pixels, PngKind kind, bool is_interlaced) {
  ByteList file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp self, png_bytep bytes, std::size_t size) {
        auto& out = *static_cast<ByteList*>(png_get_io_ptr(self));
        out.insert(out.end(), bytes, bytes + size);
      },
      nullptr);
  const bool is_bits = kind == PngKind::grey1 || kind == PngKind::palette;
  png_set_IHDR(png, info, static_cast<png_uint_32>(pixels.size.width), static_cast<png_uint_32>(pixels.size.height),
               is_bits                  ? 1
               : kind == PngKind::rgb16 ? 16
                                        : 8,
               colour_type_of(kind), is_interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  const png_color palette[] = {{10, 20, 30}, {200, 150, 100}};
  const png_byte transparency[] = {0, 128};
  if (kind == PngKind::palette) {
    png_set_PLTE(png, info, palette, 2);
    png_set_tRNS(png, info, transparency, 2, nullptr);
  }
  png_write_info(png, info);
  std::vector<ByteList> rows;
  std::vector<png_bytep> pointers;
  for (std::int64_t y = 0; y < pixels.size.height; ++y) rows.push_back(png_row_of(pixels, y, kind));
  for (ByteList& row : rows) pointers.push_back(row.data());
  png_write_image(png, pointers.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return file;
}

}  // namespace thimble::test
