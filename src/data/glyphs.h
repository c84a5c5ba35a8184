// A data set that needs no files: coloured symbols on a ramp of colour with clutter and noise, drawn anew at each read.
// A sample is a pure function of seed, split and index. Made so that colours and places alone tell little and shape
// tells all.
#pragma once

#include <cstdint>
#include <memory>

#include "data/dataset.h"

namespace thimble {

struct GlyphOptions {
  std::uint64_t seed = 0;
  std::int64_t train_count = 20'000;
  std::int64_t test_count = 2'000;
};

std::unique_ptr<Dataset> open_glyphs(const GlyphOptions& options);

// The same pictures with a class for every pixel: 0 background, to which clutter belongs, 1 to 10 the symbols.
std::unique_ptr<Dataset> open_glyph_masks(const GlyphOptions& options);

}  // namespace thimble
