#include "data/glyphs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "data/glyph_canvas.h"
#include "data/glyph_shapes.h"

namespace thimble {
namespace {

// The numbers of one sample, drawn in order.
class Dice {
 public:
  Dice(RandomKey key, std::int64_t sample) : key_(key), sample_(static_cast<std::uint64_t>(sample)) {}

  std::array<std::uint32_t, 4> words() { return random_bits(key_, counter_++, sample_); }
  float between(float low, float high) {
    if (used_ == 4) {
      words_ = words();
      used_ = 0;
    }
    return low + (high - low) * to_unit_float(words_[used_++]);
  }
  bool chance(float probability) { return between(0, 1) < probability; }

 private:
  RandomKey key_;
  std::uint64_t sample_;
  std::uint64_t counter_ = 0;
  std::array<std::uint32_t, 4> words_{};
  std::size_t used_ = 4;
};

// Where the unit square of a glyph comes to lie: turned, stretched, moved; each corner then strays a little, as by
// hand.
struct Placement {
  float xx, xy, yx, yy;
  Point centre;
  float stray;

  static Placement draw(Dice& dice) {
    // (1 - t^2, 2 t) / (1 + t^2) is the turn by 2 atan(t), about +-40 degrees, without trigonometry.
    const float t = dice.between(-0.36F, 0.36F), norm = 1 / (1 + t * t);
    const float cosine = (1 - t * t) * norm, sine = 2 * t * norm;
    const float size = dice.between(7, 11.5F), stretch = dice.between(0.85F, 1.18F);
    const float reach = std::max(0.0F, kCanvasSide / 2 - 1 - size) + 1.5F;  // now and then the edge cuts off a tip
    const Point centre = {kCanvasSide / 2 + dice.between(-reach, reach), kCanvasSide / 2 + dice.between(-reach, reach)};
    return {cosine * size * stretch,
            -sine * size / stretch,
            sine * size * stretch,
            cosine * size / stretch,
            centre,
            0.07F * size};
  }

  Point operator()(Point p, Dice& dice) const {
    return {centre.x + xx * p.x + xy * p.y + dice.between(-stray, stray),
            centre.y + yx * p.x + yy * p.y + dice.between(-stray, stray)};
  }
};

Colour draw_colour(Dice& dice, float low, float high) {
  return {{dice.between(low, high), dice.between(low, high), dice.between(low, high)}};
}

float brightness(const Colour& colour) { return (colour.channels[0] + colour.channels[1] + colour.channels[2]) / 3; }

// Lighter or darker than `ground` by 65 to 140 steps, either way where both have room; its tint is free.
Colour draw_contrasting(Dice& dice, const Colour& ground) {
  const float contrast = dice.between(65, 140), level = brightness(ground);
  const bool can_rise = level + contrast<240, can_fall = level - contrast> 15;
  const bool rises = can_rise && (!can_fall || dice.chance(0.5F));
  const Colour tint = draw_colour(dice, -45, 45);
  Colour colour;
  for (std::size_t c = 0; c < 3; ++c) {
    colour.channels[c] = level + (rises ? contrast : -contrast) + tint.channels[c] - brightness(tint);
  }
  return colour;
}

// Scraps of line and dots, too small for a glyph.
void draw_clutter(Canvas& canvas, Dice& dice, int count) {
  for (int piece = 0; piece < count; ++piece) {
    const Point from = {dice.between(0, kCanvasSide), dice.between(0, kCanvasSide)};
    const Point to = {from.x + dice.between(-6, 6), from.y + dice.between(-6, 6)};
    const bool is_dot = dice.chance(0.35F);
    canvas.add_stroke(from, is_dot ? from : to, is_dot ? dice.between(0.8F, 2.2F) : dice.between(0.3F, 1.1F));
    const Colour colour = draw_colour(dice, 0, 255);  // drawn apart: the order of arguments is the compiler's
    canvas.paint(colour, dice.between(0.35F, 0.9F));
  }
}

void draw_glyph(Canvas& canvas, Dice& dice, const GlyphShape& shape, const Colour& colour) {
  const Placement place = Placement::draw(dice);
  const float half_width = dice.between(0.7F, 1.5F);
  const bool filled = dice.chance(0.4F);
  std::array<Point, kMaxGlyphPoints> corners;
  for (const GlyphPath& path : shape.paths) {
    const std::size_t count = path.points.size();
    for (std::size_t i = 0; i < count; ++i) corners[i] = place(path.points[i], dice);
    for (std::size_t i = 0; i + 1 < count; ++i) canvas.add_stroke(corners[i], corners[i + 1], half_width);
    if (path.is_closed) canvas.add_stroke(corners[count - 1], corners[0], half_width);
    if (path.is_closed && filled) canvas.add_polygon(std::span(corners).first(count));
  }
  canvas.paint(colour, dice.between(0.8F, 1), Layer::figure);
}

// Each byte is the mean of two uniform ones: most values are near the middle.
std::array<std::uint8_t, 3 * kCanvasSide * kCanvasSide> draw_noise(Dice& dice) {
  std::array<std::uint8_t, 3 * kCanvasSide * kCanvasSide> noise;
  for (std::size_t i = 0; i < noise.size();) {
    for (const std::uint32_t word : dice.words()) {
      for (const std::uint32_t half : {word & 0xffffU, word >> 16}) {
        noise[i++] = static_cast<std::uint8_t>(((half & 0xffU) + (half >> 8) + 1) / 2);
      }
    }
  }
  return noise;
}

struct SampleKey {
  std::uint64_t seed = 0;
  Split split = Split::train;
  std::int64_t index = 0;

  std::int32_t glyph() const { return static_cast<std::int32_t>(index % kGlyphCount); }
};

void draw_sample(const SampleKey& key, Canvas& canvas, std::span<std::uint8_t> pixels) {
  Dice dice(random_key(key.seed, RandomPurpose::glyphs, static_cast<std::uint64_t>(key.split)), key.index);
  const Colour ground = draw_colour(dice, 25, 230);
  const Colour shade = draw_colour(dice, -35, 35);
  Colour end = ground;
  for (std::size_t c = 0; c < 3; ++c) end.channels[c] += shade.channels[c];

  canvas.paint_ramp(ground, end, {dice.between(-1, 1), dice.between(-1, 1)});
  draw_clutter(canvas, dice, 2 + static_cast<int>(dice.between(0, 5)));
  draw_glyph(canvas, dice, glyph_shapes()[static_cast<std::size_t>(key.glyph())], draw_contrasting(dice, ground));
  draw_clutter(canvas, dice, static_cast<int>(dice.between(0, 3)));
  const float noise_scale = dice.between(0.04F, 0.35F);
  canvas.write(draw_noise(dice), noise_scale, pixels);
}

class Glyphs : public Dataset {
 public:
  Glyphs(DatasetInfo info, std::uint64_t seed) : Dataset(std::move(info)), seed_(seed) {}

  std::int32_t read(Split split, std::int64_t index, std::span<std::uint8_t> pixels) const override {
    check_read(split, index, pixels);
    const SampleKey key{seed_, split, index};
    Canvas canvas;
    draw_sample(key, canvas, pixels);
    return key.glyph();
  }

 private:
  std::uint64_t seed_;
};

class GlyphMasks : public Dataset {
 public:
  GlyphMasks(DatasetInfo info, std::uint64_t seed) : Dataset(std::move(info)), seed_(seed) {}

  void read_masked(Split split, std::int64_t index, const Framing&, const MaskedRoom& room) const override {
    check_read_masked(split, index, room);
    const SampleKey key{seed_, split, index};
    Canvas canvas;
    draw_sample(key, canvas, room.pixels);
    canvas.write_mask(static_cast<std::uint8_t>(key.glyph() + 1), room.mask);
  }

 private:
  std::uint64_t seed_;
};

DatasetInfo make_info(std::string_view name, const GlyphOptions& options) {
  require(options.train_count >= 1 && options.test_count >= 1, name, ": found ", options.train_count, " and ",
          options.test_count, " samples, wanted at least 1 each");
  DatasetInfo info{.name = std::string(name),
                   .sample_shape = {kCanvasSide, kCanvasSide, 3},
                   .class_names = {},
                   .train_count = options.train_count,
                   .test_count = options.test_count,
                   // measured over the training samples of seed 0
                   .mean = {0.4917F, 0.4901F, 0.4947F},
                   .deviation = {0.2446F, 0.2440F, 0.2447F}};
  for (const GlyphShape& shape : glyph_shapes()) info.class_names.emplace_back(shape.name);
  return info;
}

}  // namespace

std::unique_ptr<Dataset> open_glyphs(const GlyphOptions& options) {
  return std::make_unique<Glyphs>(make_info("glyphs", options), options.seed);
}

std::unique_ptr<Dataset> open_glyph_masks(const GlyphOptions& options) {
  DatasetInfo info = make_info("glyph-masks", options);
  info.has_masks = true;
  info.class_names.insert(info.class_names.begin(), "background");
  return std::make_unique<GlyphMasks>(std::move(info), options.seed);
}

}  // namespace thimble
