#include "data/glyph_canvas.h"

#include <algorithm>
#include <cmath>

namespace thimble {
namespace {

float clamp_unit(float value) { return std::min(std::max(value, 0.0F), 1.0F); }

// Pixels whose centre lies between low and high, which may lie far outside.
struct PixelRange {
  int begin, end;
  PixelRange(float low, float high)
      : begin(static_cast<int>(std::ceil(std::clamp(low, 0.0F, float{kCanvasSide}) - 0.5F))),
        end(static_cast<int>(std::ceil(std::clamp(high, 0.0F, float{kCanvasSide}) - 0.5F))) {}
};

}  // namespace

void Canvas::paint_ramp(const Colour& from, const Colour& to, Point direction) {
  constexpr float kHalf = kCanvasSide / 2;
  float* pixel = image_.data();
  for (int y = 0; y < kCanvasSide; ++y) {
    for (int x = 0; x < kCanvasSide; ++x) {
      const float along = (static_cast<float>(x) - kHalf) * direction.x + (static_cast<float>(y) - kHalf) * direction.y;
      const float share = clamp_unit(0.5F + along / kCanvasSide);
      for (std::size_t c = 0; c < 3; ++c) *pixel++ = from.channels[c] + (to.channels[c] - from.channels[c]) * share;
    }
  }
}

void Canvas::add_stroke(Point from, Point to, float half_width) {
  const float reach = half_width + 1;  // only pixels near the segment are looked at
  const PixelRange rows(std::min(from.y, to.y) - reach, std::max(from.y, to.y) + reach);
  const PixelRange columns(std::min(from.x, to.x) - reach, std::max(from.x, to.x) + reach);
  const float dx = to.x - from.x, dy = to.y - from.y;
  const float scale = 1 / std::max(dx * dx + dy * dy, 1e-6F);
  for (int y = rows.begin; y < rows.end; ++y) {
    float* row = coverage_.data() + y * kCanvasSide;
    for (int x = columns.begin; x < columns.end; ++x) {
      const float px = static_cast<float>(x) + 0.5F - from.x, py = static_cast<float>(y) + 0.5F - from.y;
      const float along = clamp_unit((px * dx + py * dy) * scale);
      const float ex = px - along * dx, ey = py - along * dy;
      row[x] = std::max(row[x], clamp_unit(half_width + 0.5F - std::sqrt(ex * ex + ey * ey)));
    }
  }
}

void Canvas::add_polygon(std::span<const Point> corners) {
  std::array<float, kMaxGlyphPoints> crossings;
  for (int y = 0; y < kCanvasSide; ++y) {
    const float level = static_cast<float>(y) + 0.5F;
    std::size_t count = 0;
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Point a = corners[i], b = corners[(i + 1) % corners.size()];
      if ((a.y <= level) == (b.y <= level)) continue;
      crossings[count++] = a.x + (level - a.y) / (b.y - a.y) * (b.x - a.x);
    }
    std::sort(crossings.begin(), crossings.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = 0; i + 1 < count; i += 2) {
      const PixelRange columns(crossings[i], crossings[i + 1]);
      for (int x = columns.begin; x < columns.end; ++x) coverage_[static_cast<std::size_t>(y * kCanvasSide + x)] = 1;
    }
  }
}

void Canvas::paint(const Colour& colour, float opacity, Layer layer) {
  const float painted = layer == Layer::figure ? 1 : 0;
  float* pixel = image_.data();
  float* figure = figure_.data();
  for (float& covered : coverage_) {
    const float share = covered * opacity;
    *figure += (painted - *figure) * share;
    ++figure;
    for (std::size_t c = 0; c < 3; ++c, ++pixel) *pixel += (colour.channels[c] - *pixel) * share;
    covered = 0;
  }
}

void Canvas::write(std::span<const std::uint8_t> noise, float noise_scale, std::span<std::uint8_t> pixels) const {
  for (std::size_t i = 0; i < image_.size(); ++i) {
    const float value = image_[i] + (static_cast<float>(noise[i]) - 128) * noise_scale;
    pixels[i] = static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F) + 0.5F);
  }
}

void Canvas::write_mask(std::uint8_t figure, std::span<std::uint8_t> mask) const {
  for (std::size_t i = 0; i < figure_.size(); ++i) mask[i] = figure_[i] >= 0.5F ? figure : std::uint8_t{0};
}

}  // namespace thimble
