// The ten symbols of the data set `glyphs`, as paths through points in the square from -1 to 1, y downwards. Each stays
// itself when mirrored or turned, so that augmentation never changes a class.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace thimble {

struct Point {
  float x = 0, y = 0;
};

struct GlyphPath {
  std::span<const Point> points;
  bool is_closed = false;  // joined from last to first; may be filled
};

struct GlyphShape {
  std::string_view name;
  std::span<const GlyphPath> paths;
};

constexpr int kGlyphCount = 10;
constexpr std::size_t kMaxGlyphPoints = 16;  // of one path

const std::array<GlyphShape, kGlyphCount>& glyph_shapes();

}  // namespace thimble
