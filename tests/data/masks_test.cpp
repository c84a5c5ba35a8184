// Data with a class for every pixel: the drawn masks, and their way through augmentation and loader.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "data/fake_files.h"
#include "data/glyph_canvas.h"
#include "data/glyphs.h"
#include "data/loader.h"
#include "data/open.h"

namespace thimble {
namespace {

using namespace test;

constexpr std::size_t kPlaces = 32 * 32;

struct MaskedSample {
  std::array<std::uint8_t, 3 * kPlaces> pixels;
  std::array<std::uint8_t, kPlaces> mask;

  MaskedRoom room() { return {pixels, mask, {}}; }
  friend bool operator==(const MaskedSample&, const MaskedSample&) = default;
};

MaskedSample read(const Dataset& dataset, Split split, std::int64_t index) {
  MaskedSample sample;
  dataset.read_masked(split, index, {}, sample.room());
  return sample;
}

std::int64_t foreground(const MaskedSample& sample) {
  return static_cast<std::int64_t>(kPlaces) - std::count(sample.mask.begin(), sample.mask.end(), 0);
}

// ---- Drawn masks

TEST(GlyphMasks, AreOfThePicturesOfGlyphs) {
  const auto masks = open_glyph_masks({.seed = 6}), glyphs = open_glyphs({.seed = 6});
  std::array<std::uint8_t, 3 * kPlaces> pixels;
  for (const Split split : {Split::train, Split::test}) {
    EXPECT_EQ(masks->count(split), glyphs->count(split));
    for (std::int64_t index = 0; index < 50; ++index) {
      const std::int32_t label = glyphs->read(split, index, pixels);
      const MaskedSample sample = read(*masks, split, index);
      EXPECT_EQ(sample.pixels, pixels);
      for (const std::uint8_t value : sample.mask) ASSERT_TRUE(value == 0 || value == label + 1) << int{value};
    }
  }
}

TEST(GlyphMasks, HaveElevenClassesOfWhichTheFirstIsBackground) {
  const auto masks = open_glyph_masks({}), glyphs = open_glyphs({});
  EXPECT_TRUE(masks->info().has_masks);
  EXPECT_FALSE(glyphs->info().has_masks);
  std::vector<std::string> wanted = {"background"};
  wanted.insert(wanted.end(), glyphs->info().class_names.begin(), glyphs->info().class_names.end());
  EXPECT_EQ(masks->info().class_names, wanted);
  EXPECT_EQ(masks->class_count(), 11);
}

TEST(GlyphMasks, AreAFunctionOfSeedSplitAndIndex) {
  const auto dataset = open_glyph_masks({.seed = 4}), same = open_glyph_masks({.seed = 4, .train_count = 50});
  const auto other = open_glyph_masks({.seed = 5});
  const MaskedSample wanted = read(*dataset, Split::train, 17);
  read(*dataset, Split::train, 3);  // what is read in between leaves no trace
  EXPECT_EQ(read(*dataset, Split::train, 17), wanted);
  EXPECT_EQ(read(*same, Split::train, 17), wanted);
  EXPECT_NE(read(*dataset, Split::train, 27).mask, wanted.mask);
  EXPECT_NE(read(*dataset, Split::test, 17).mask, wanted.mask);
  EXPECT_NE(read(*other, Split::train, 17).mask, wanted.mask);
}

// As for the pictures: results are told of these masks.
TEST(GlyphMasks, AreDrawnAsEver) {
  const auto dataset = open_glyph_masks({});
  std::uint64_t all = 0;
  std::int64_t covered = 0;
  for (std::int64_t index = 0; index < 100; ++index) {
    const MaskedSample sample = read(*dataset, Split::train, index);
    all = all * 31 + hash_text(reinterpret_cast<const char*>(sample.mask.data()), sample.mask.size());
    covered += foreground(sample);
  }
  EXPECT_EQ(all, 668292917790006183ULL);
  EXPECT_EQ(covered, 13949) << "a seventh of all pixels";
}

// Where the mask says so, the picture shows a symbol: it is lighter or darker than what is around it.
TEST(GlyphMasks, LieOnTheSymbol) {
  const auto dataset = open_glyph_masks({});
  int contrasting = 0;
  for (std::int64_t index = 0; index < 200; ++index) {
    const MaskedSample sample = read(*dataset, Split::test, index);
    std::array<double, 2> sum{};
    for (std::size_t i = 0; i < sample.pixels.size(); ++i) sum[sample.mask[i / 3] > 0 ? 1 : 0] += sample.pixels[i];
    const auto inside = static_cast<double>(foreground(sample));
    ASSERT_GT(inside, 0.02 * kPlaces) << index;
    ASSERT_LT(inside, 0.6 * kPlaces) << index;
    const double around = sum[0] / (3 * (kPlaces - inside));
    contrasting += std::abs(sum[1] / (3 * inside) - around) > 40 ? 1 : 0;  // drawn with 65 to 140, less clutter
  }
  EXPECT_GT(contrasting, 190);
}

TEST(Canvas, WhatHidesTheFigureTakesItsPixels) {
  Canvas canvas;
  canvas.paint_ramp({{0, 0, 0}}, {{0, 0, 0}}, {1, 0});
  canvas.add_stroke({4, 8}, {28, 8}, 3);
  canvas.paint({{90, 90, 90}}, 1);  // clutter, which is no figure
  canvas.add_stroke({4, 16}, {28, 16}, 3);
  canvas.paint({{200, 200, 200}}, 0.9F, Layer::figure);
  canvas.add_stroke({8, 4}, {8, 28}, 2);
  canvas.paint({{50, 50, 50}}, 0.8F);  // hides the figure
  canvas.add_stroke({24, 4}, {24, 28}, 2);
  canvas.paint({{50, 50, 50}}, 0.3F);  // lets it shine through
  std::array<std::uint8_t, kPlaces> mask;
  canvas.write_mask(7, mask);
  const auto at = [&](int x, int y) { return int{mask[static_cast<std::size_t>(y * 32 + x)]}; };
  EXPECT_EQ(at(16, 8), 0);
  EXPECT_EQ(at(16, 15), 7);
  EXPECT_EQ(at(16, 16), 7);
  EXPECT_EQ(at(8, 16), 0);
  EXPECT_EQ(at(24, 16), 7);
  EXPECT_EQ(at(24, 8), 0);
  EXPECT_EQ(at(16, 20), 0);
}

TEST(OpenDataset, DrawsGlyphMasksWithoutAnyFolder) {
  const auto dataset = open_dataset("glyph-masks", {.seed = 3}), other = open_dataset("glyph-masks", {.seed = 4});
  EXPECT_EQ(dataset->info().name, "glyph-masks");
  EXPECT_NE(read(*dataset, Split::train, 0), read(*other, Split::train, 0));
  expect_user_error([] { open_dataset("glyph-mask", {}); }, {"did you mean 'glyph-masks'"});
  expect_user_error([] { open_glyph_masks({.train_count = 0}); }, {"glyph-masks: found 0 and 2000 samples"});
  for (const DatasetListing& listing : list_datasets("")) {
    EXPECT_EQ(listing.has_masks, listing.name == "glyph-masks") << listing.name;
  }
}

TEST(Dataset, IsReadTheOneWayItsLabelsAllow) {
  MaskedSample sample;
  const auto masks = open_glyph_masks({}), glyphs = open_glyphs({});
  EXPECT_THROW(masks->read(Split::train, 0, sample.pixels), InternalError);
  EXPECT_THROW(glyphs->read_masked(Split::train, 0, {}, sample.room()), InternalError);
  EXPECT_THROW(masks->read_masked(Split::train, 20'000, {}, sample.room()), InternalError);
  const MaskedRoom narrow = {sample.pixels, std::span(sample.mask).first(kPlaces - 1), {}};
  EXPECT_THROW(masks->read_masked(Split::train, 0, {}, narrow), InternalError);
}

// ---- Through the loader

// Every pixel shows its own class, so that after any augmentation a picture still tells what its mask must be.
class TellingPictures final : public Dataset {
 public:
  static constexpr std::int64_t kHeight = 7, kWidth = 11;

  TellingPictures()
      : Dataset({.name = "telling",
                 .sample_shape = {kHeight, kWidth, 2},
                 .class_names = std::vector<std::string>(200, "any"),
                 .train_count = 9,
                 .test_count = 1,
                 .mean = {0, 0},
                 .deviation = {1, 1},
                 .has_masks = true}) {}

  void read_masked(Split split, std::int64_t index, const Framing&, const MaskedRoom& room) const override {
    check_read_masked(split, index, room);
    const RandomKey key = random_key(0, RandomPurpose::test, static_cast<std::uint64_t>(index));
    for (std::size_t i = 0; i < room.mask.size(); ++i) {
      room.mask[i] = static_cast<std::uint8_t>(random_below(key, i, 200));
      room.pixels[2 * i] = room.mask[i];
      room.pixels[2 * i + 1] = static_cast<std::uint8_t>(255 - room.mask[i]);
    }
  }
};

// A batch with guard values behind its rows.
struct MaskBatch {
  std::int64_t rows;
  Shape sample;
  std::vector<float> images;
  std::vector<std::int32_t> labels;

  explicit MaskBatch(std::int64_t row_count, const Shape& shape = {32, 32, 3})
      : rows(row_count),
        sample(shape),
        images(static_cast<std::size_t>(row_count * shape.count()), -99),
        labels(static_cast<std::size_t>(row_count * shape[0] * shape[1]), -99) {}

  TensorView image_view() { return {images.data(), DType::f32, {rows, sample[0], sample[1], sample[2]}}; }
  TensorView label_view() { return {labels.data(), DType::i32, {rows, sample[0], sample[1]}}; }
};

TEST(MaskLoader, MovesMasksAsItMovesPictures) {
  const TellingPictures dataset;
  for (const Augmentation augmentation : {Augmentation::none, Augmentation::crop_flip}) {
    Loader loader(dataset, {.batch = 9, .seed = 2, .augmentation = augmentation});
    for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
      MaskBatch batch(9, dataset.info().sample_shape);
      loader.fill({epoch, 0}, 0, 9, batch.image_view(), batch.label_view());
      for (std::size_t i = 0; i < batch.labels.size(); ++i) {
        ASSERT_EQ(std::lround(batch.images[2 * i] * 255), batch.labels[i]) << name_of(augmentation);
        ASSERT_EQ(std::lround(batch.images[2 * i + 1] * 255), 255 - batch.labels[i]);
      }
    }
  }
}

TEST(MaskLoader, AugmentsAnewEachEpoch) {
  const TellingPictures dataset;
  Loader loader(dataset, {.batch = 9, .shuffle = false, .augmentation = Augmentation::crop_flip});
  MaskBatch first(9, dataset.info().sample_shape), second = first;
  loader.fill({0, 0}, 0, 9, first.image_view(), first.label_view());
  loader.fill({1, 0}, 0, 9, second.image_view(), second.label_view());
  EXPECT_NE(first.labels, second.labels);
}

TEST(MaskLoader, RowsHoldTheMasksOfTheirIndices) {
  const auto dataset = open_glyph_masks({.seed = 1, .train_count = 53, .test_count = 20});
  Loader loader(*dataset, {.batch = 10, .seed = 5});
  MaskBatch batch(10);
  loader.fill({4, 5}, 0, 3, batch.image_view(), batch.label_view());  // the ragged batch
  for (std::size_t row = 0; row < 3; ++row) {
    const MaskedSample sample =
        read(*dataset, Split::train, loader.sample_index({4, 5}, static_cast<std::int64_t>(row)));
    for (std::size_t i = 0; i < kPlaces; ++i) ASSERT_EQ(batch.labels[row * kPlaces + i], sample.mask[i]);
  }
  EXPECT_TRUE(std::all_of(batch.labels.begin() + 3 * kPlaces, batch.labels.end(), [](int x) { return x == -99; }));
}

TEST(MaskLoader, PartsAndThreadsChangeNothing) {
  const auto dataset = open_glyph_masks({.seed = 1, .train_count = 53, .test_count = 20});
  const auto options = [](int threads) {
    return LoaderOptions{.batch = 10, .seed = 3, .augmentation = Augmentation::crop_flip, .threads = threads};
  };
  MaskBatch whole(10), threaded(10), part(4);
  Loader loader(*dataset, options(1)), three(*dataset, options(3));
  loader.fill({1, 2}, 0, 10, whole.image_view(), whole.label_view());
  three.fill({1, 2}, 0, 10, threaded.image_view(), threaded.label_view());
  EXPECT_EQ(threaded.images, whole.images);
  EXPECT_EQ(threaded.labels, whole.labels);
  loader.fill({1, 2}, 4, 4, part.image_view(), part.label_view());
  EXPECT_TRUE(std::equal(part.labels.begin(), part.labels.end(), whole.labels.begin() + 4 * kPlaces));
}

TEST(MaskLoader, HoldsASampleAndAMaskAThreadAndThePlanCountsThem) {
  const auto dataset = open_glyph_masks({});
  const Loader loader(*dataset, {.batch = 10'000, .threads = 2});
  EXPECT_EQ(loader.buffer_bytes(), 2 * (3072 + 1024));
  EXPECT_EQ(loading_bytes(*dataset, 2), loader.buffer_bytes());
}

TEST(MaskLoader, LabelsOfAnotherShapeAreOurOwnError) {
  const auto masks = open_glyph_masks({}), glyphs = open_glyphs({});
  Loader loader(*masks, {.batch = 4}), plain(*glyphs, {.batch = 4});
  MaskBatch batch(4);
  EXPECT_THROW(loader.fill({}, 0, 4, batch.image_view(), {batch.labels.data(), DType::i32, {4}}), InternalError);
  EXPECT_THROW(loader.fill({}, 0, 4, batch.image_view(), {batch.labels.data(), DType::i32, {4, 1024}}), InternalError);
  EXPECT_THROW(loader.fill({}, 0, 4, batch.image_view(), {batch.labels.data(), DType::i32, {3, 32, 32}}),
               InternalError);
  EXPECT_THROW(plain.fill({}, 0, 4, batch.image_view(), batch.label_view()), InternalError);
}

}  // namespace
}  // namespace thimble
