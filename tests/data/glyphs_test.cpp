#include "data/glyphs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/random.h"
#include "data/augment.h"
#include "data/glyph_canvas.h"

namespace thimble {
namespace {

using GlyphPixels = std::array<std::uint8_t, 3072>;

std::uint64_t hash_of(const GlyphPixels& pixels) {
  return hash_text(reinterpret_cast<const char*>(pixels.data()), pixels.size());
}

TEST(Glyphs, HasTenClassesInEqualShares) {
  const auto dataset = open_glyphs({});
  EXPECT_EQ(dataset->count(Split::train), 20'000);
  EXPECT_EQ(dataset->count(Split::test), 2'000);
  EXPECT_EQ(dataset->info().sample_shape, Shape({32, 32, 3}));
  const auto& names = dataset->info().class_names;
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), 10U);
  std::array<int, 10> counts{};
  GlyphPixels pixels;
  for (std::int64_t index = 0; index < 200; ++index) {
    ++counts.at(static_cast<std::size_t>(dataset->read(Split::test, index, pixels)));
  }
  for (const int count : counts) EXPECT_EQ(count, 20);
}

TEST(Glyphs, ASampleIsAFunctionOfSeedSplitAndIndex) {
  const auto dataset = open_glyphs({.seed = 4}), same = open_glyphs({.seed = 4, .train_count = 50});
  const auto other = open_glyphs({.seed = 5});
  GlyphPixels first, second;
  const auto hash_at = [](const Dataset& from, Split split, std::int64_t index, GlyphPixels& pixels) {
    from.read(split, index, pixels);
    return hash_of(pixels);
  };
  const std::uint64_t wanted = hash_at(*dataset, Split::train, 17, first);
  hash_at(*dataset, Split::train, 3, second);  // what is read in between leaves no trace
  EXPECT_EQ(hash_at(*dataset, Split::train, 17, second), wanted);
  EXPECT_EQ(hash_at(*same, Split::train, 17, second), wanted);
  EXPECT_NE(hash_at(*dataset, Split::train, 27, second), wanted);
  EXPECT_NE(hash_at(*dataset, Split::test, 17, second), wanted);
  EXPECT_NE(hash_at(*other, Split::train, 17, second), wanted);
}

TEST(Glyphs, NoTwoSamplesAreAlike) {
  const auto dataset = open_glyphs({});
  std::set<std::uint64_t> hashes;
  GlyphPixels pixels;
  for (const Split split : {Split::train, Split::test}) {
    for (std::int64_t index = 0; index < 1000; ++index) {
      dataset->read(split, index, pixels);
      hashes.insert(hash_of(pixels));
    }
  }
  EXPECT_EQ(hashes.size(), 2000U);
}

// Reports name results on this data set, so a change to the drawing must not pass unnoticed.
TEST(Glyphs, DrawsTheSamePicturesAsEver) {
  const auto dataset = open_glyphs({});
  std::uint64_t all = 0;
  GlyphPixels pixels;
  for (std::int64_t index = 0; index < 100; ++index) {
    dataset->read(Split::train, index, pixels);
    all = all * 31 + hash_of(pixels);
  }
  EXPECT_EQ(all, 7889798577542822758ULL);
}

TEST(Glyphs, ItsMeanAndDeviationAreThoseOfItsPixels) {
  const auto dataset = open_glyphs({});
  constexpr int kSamples = 2000;
  std::array<double, 3> sum{}, squares{};
  GlyphPixels pixels;
  for (std::int64_t index = 0; index < kSamples; ++index) {
    dataset->read(Split::train, index, pixels);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const double value = pixels[i] / 255.0;
      sum[i % 3] += value;
      squares[i % 3] += value * value;
    }
  }
  for (std::size_t c = 0; c < 3; ++c) {
    const double mean = sum[c] / (1024.0 * kSamples);
    const double deviation = std::sqrt(squares[c] / (1024.0 * kSamples) - mean * mean);
    EXPECT_NEAR(mean, static_cast<double>(dataset->info().mean[c]), 0.02);  // images differ by 0.2: 2,000 leave 0.005
    EXPECT_NEAR(deviation, static_cast<double>(dataset->info().deviation[c]), 0.01);
  }
}

TEST(Glyphs, RefusesAnEmptySplit) { EXPECT_THROW(open_glyphs({.test_count = 0}), UserError); }

// ---- What a model without any notion of shape can learn

constexpr std::size_t kInputs = 3072, kClasses = 10;

// Softmax regression by plain stochastic gradient descent, weights (inputs, classes).
class LinearClassifier {
 public:
  LinearClassifier() : weights_(kInputs * kClasses), bias_{} {}

  std::array<float, kClasses> scores(const std::vector<float>& x) const {
    std::array<float, kClasses> out = bias_;
    for (std::size_t i = 0; i < kInputs; ++i) {
      for (std::size_t k = 0; k < kClasses; ++k) out[k] += x[i] * weights_[i * kClasses + k];
    }
    return out;
  }

  void learn(const std::vector<float>& x, std::size_t label, float rate) {
    std::array<float, kClasses> error = scores(x);
    const float top = *std::max_element(error.begin(), error.end());
    float total = 0;
    for (float& score : error) total += score = std::exp(score - top);
    for (float& score : error) score *= rate / total;
    error[label] -= rate;
    for (std::size_t k = 0; k < kClasses; ++k) bias_[k] -= error[k];
    for (std::size_t i = 0; i < kInputs; ++i) {
      for (std::size_t k = 0; k < kClasses; ++k) weights_[i * kClasses + k] -= x[i] * error[k];
    }
  }

  std::size_t guess(const std::vector<float>& x) const {
    const auto out = scores(x);
    return static_cast<std::size_t>(std::max_element(out.begin(), out.end()) - out.begin());
  }

 private:
  std::vector<float> weights_;
  std::array<float, kClasses> bias_;
};

TEST(Glyphs, ALinearClassifierStaysUnderSixtyPercent) {
  const auto dataset = open_glyphs({});
  const Normalizer normalizer(dataset->info());
  GlyphPixels pixels;
  std::vector<float> x(kInputs);
  const auto read = [&](Split split, std::int64_t index) {
    const auto label = static_cast<std::size_t>(dataset->read(split, index, pixels));
    write_image(pixels, dataset->info().sample_shape, {}, normalizer, x.data());
    return label;
  };
  LinearClassifier classifier;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    const float rate = 2e-4F / static_cast<float>(1 + epoch);
    for (std::int64_t index = 0; index < 5000; ++index) {
      const std::size_t label = read(Split::train, index);
      classifier.learn(x, label, rate);
    }
  }
  const auto hits = [&](Split split) {
    int count = 0;
    for (std::int64_t index = 0; index < 1000; ++index) {
      const std::size_t label = read(split, index);
      count += classifier.guess(x) == label ? 1 : 0;
    }
    return count;
  };
  EXPECT_LT(hits(Split::test), 600);
  EXPECT_GT(hits(Split::train), 150) << "the classifier has not learned at all, so the test says nothing";
}

// ---- The drawing surface

TEST(Canvas, AStrokeCoversItsWidthAndNothingFarFromIt) {
  Canvas canvas;
  canvas.paint_ramp({{0, 0, 0}}, {{0, 0, 0}}, {1, 0});
  canvas.add_stroke({8, 16}, {24, 16}, 2);
  canvas.paint({{200, 100, 50}}, 1);
  GlyphPixels pixels;
  std::vector<std::uint8_t> no_noise(3072, 128);
  canvas.write(no_noise, 1, pixels);
  const auto at = [&](int x, int y, int c) { return pixels[static_cast<std::size_t>((y * 32 + x) * 3 + c)]; };
  EXPECT_EQ(at(16, 15, 0), 200);
  EXPECT_EQ(at(16, 16, 2), 50);
  EXPECT_EQ(at(16, 14, 0), 200);
  EXPECT_EQ(at(16, 12, 0), 0);
  EXPECT_EQ(at(16, 20, 0), 0);
  EXPECT_EQ(at(4, 16, 0), 0);
  EXPECT_EQ(at(28, 16, 0), 0);
}

TEST(Canvas, APolygonIsFilledByTheEvenOddRule) {
  Canvas canvas;
  canvas.paint_ramp({{10, 10, 10}}, {{10, 10, 10}}, {0, 1});
  const std::array<Point, 4> hourglass = {{{4, 4}, {28, 4}, {4, 28}, {28, 28}}};
  canvas.add_polygon(hourglass);
  canvas.paint({{90, 90, 90}}, 1);
  GlyphPixels pixels;
  canvas.write(std::vector<std::uint8_t>(3072, 128), 1, pixels);
  const auto at = [&](int x, int y) { return pixels[static_cast<std::size_t>((y * 32 + x) * 3)]; };
  EXPECT_EQ(at(16, 7), 90);
  EXPECT_EQ(at(16, 25), 90);
  EXPECT_EQ(at(7, 16), 10);
  EXPECT_EQ(at(25, 16), 10);
}

TEST(Canvas, SurvivesStrokesFarOutside) {
  Canvas canvas;
  canvas.paint_ramp({{1, 2, 3}}, {{1, 2, 3}}, {0, 0});
  canvas.add_stroke({-1e6F, -1e6F}, {-1e5F, 1e6F}, 3);
  canvas.add_stroke({1e6F, 5}, {1e6F, 5}, 3);
  canvas.paint({{255, 255, 255}}, 1);
  GlyphPixels pixels;
  canvas.write(std::vector<std::uint8_t>(3072, 128), 1, pixels);
  for (std::size_t i = 0; i < pixels.size(); ++i) ASSERT_EQ(pixels[i], i % 3 + 1);
}

}  // namespace
}  // namespace thimble
