// A small drawing surface: strokes and filled polygons with soft edges gather in a coverage, which is then painted over
// the image in one colour. What is painted as the figure is remembered pixel by pixel. Uses sums, products, quotients
// and square roots only, so the same picture comes out with every mathematics library.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "data/glyph_shapes.h"

namespace thimble {

constexpr int kCanvasSide = 32;

struct Colour {
  std::array<float, 3> channels{};  // 0 to 255; may leave that range until the end
};

enum class Layer : std::uint8_t { ground, figure };

class Canvas {
 public:
  void paint_ramp(const Colour& from, const Colour& to, Point direction);  // the background; |direction| about 1

  void add_stroke(Point from, Point to, float half_width);  // in pixels, with round ends
  void add_polygon(std::span<const Point> corners);         // even-odd rule
  // The coverage gathered so far, then forgets it.
  void paint(const Colour& colour, float opacity, Layer layer = Layer::ground);

  // `noise` is one byte a value, 128 meaning none.
  void write(std::span<const std::uint8_t> noise, float noise_scale, std::span<std::uint8_t> pixels) const;

  // (H, W): `figure` where at least half of a pixel's colour is the figure's, 0 elsewhere. What is painted over the
  // figure takes its pixels as far as it hides them.
  void write_mask(std::uint8_t figure, std::span<std::uint8_t> mask) const;

 private:
  std::array<float, kCanvasSide * kCanvasSide> coverage_{};
  std::array<float, kCanvasSide * kCanvasSide> figure_{};   // its share of each pixel's colour
  std::array<float, 3 * kCanvasSide * kCanvasSide> image_;  // (H, W, C)
};

}  // namespace thimble
