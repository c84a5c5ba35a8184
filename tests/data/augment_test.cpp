#include "data/augment.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>

#include "base/random.h"
#include "data/fake_files.h"

namespace thimble {
namespace {

DatasetInfo info_of(const Shape& shape) {
  const auto channels = static_cast<std::size_t>(shape[2]);
  DatasetInfo info{.name = "fake", .sample_shape = shape, .class_names = {}, .mean = {}, .deviation = {}};
  for (std::size_t c = 0; c < channels; ++c) {
    info.mean.push_back(0.4F + 0.1F * static_cast<float>(c));
    info.deviation.push_back(0.2F + 0.05F * static_cast<float>(c));
  }
  return info;
}

std::vector<std::uint8_t> random_pixels(const Shape& shape) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(shape.count()));
  const RandomKey key = random_key(5, RandomPurpose::test, 0);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(random_below(key, i, 256));
  return pixels;
}

// The recipe word for word: make the padded image, cut the window out of it, mirror the window, normalise.
std::vector<double> by_the_book(const std::vector<std::uint8_t>& pixels, const DatasetInfo& info, int top, int left,
                                bool mirrored) {
  const Shape& shape = info.sample_shape;
  const auto height = static_cast<int>(shape[0]), width = static_cast<int>(shape[1]),
             channels = static_cast<int>(shape[2]);
  const int pad = 4, padded_width = width + 2 * pad;
  const auto bounce = [](int i, int size) {
    while (i < 0 || i >= size) i = i < 0 ? -i : 2 * (size - 1) - i;
    return i;
  };
  std::vector<std::uint8_t> padded;
  for (int y = -pad; y < height + pad; ++y) {
    for (int x = -pad; x < width + pad; ++x) {
      for (int c = 0; c < channels; ++c) {
        padded.push_back(
            pixels[static_cast<std::size_t>((bounce(y, height) * width + bounce(x, width)) * channels + c)]);
      }
    }
  }
  std::vector<double> out(pixels.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const double pixel = padded[static_cast<std::size_t>(((y + top) * padded_width + x + left) * channels + c)];
        const int to = mirrored ? width - 1 - x : x;
        out[static_cast<std::size_t>((y * width + to) * channels + c)] =
            (pixel / 255 - static_cast<double>(info.mean[static_cast<std::size_t>(c)])) /
            static_cast<double>(info.deviation[static_cast<std::size_t>(c)]);
      }
    }
  }
  return out;
}

TEST(CropFlip, EqualsPadCropMirrorNormaliseForEveryDraw) {
  for (const Shape& shape : {Shape{32, 32, 3}, Shape{5, 7, 1}, Shape{9, 6, 2}}) {
    const DatasetInfo info = info_of(shape);
    const Normalizer normalizer(info);
    const std::vector<std::uint8_t> pixels = random_pixels(shape);
    std::vector<float> out(pixels.size());
    for (int top = 0; top <= 8; ++top) {
      for (int left = 0; left <= 8; ++left) {
        for (const bool mirrored : {false, true}) {
          write_image(pixels, shape, {top - 4, left - 4, mirrored}, normalizer, out.data());
          const std::vector<double> wanted = by_the_book(pixels, info, top, left, mirrored);
          for (std::size_t i = 0; i < out.size(); ++i) {
            ASSERT_EQ(out[i], static_cast<float>(wanted[i])) << to_text(shape) << " at " << i;
          }
        }
      }
    }
  }
}

TEST(CropFlip, TheDefaultDrawLeavesTheImageInPlace) {
  const Shape shape = {6, 5, 3};
  const DatasetInfo info = info_of(shape);
  const std::vector<std::uint8_t> pixels = random_pixels(shape);
  std::vector<float> out(pixels.size());
  write_image(pixels, shape, {}, Normalizer(info), out.data());
  const std::vector<double> wanted = by_the_book(pixels, info, 4, 4, false);
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<float>(wanted[i]));
}

TEST(CropFlip, Bf16IsTheRoundedF32) {
  const Shape shape = {8, 8, 3};
  const Normalizer normalizer(info_of(shape));
  const std::vector<std::uint8_t> pixels = random_pixels(shape);
  std::vector<float> wide(pixels.size());
  std::vector<BFloat16> narrow(pixels.size());
  write_image(pixels, shape, {2, -3, true}, normalizer, wide.data());
  write_image(pixels, shape, {2, -3, true}, normalizer, narrow.data());
  for (std::size_t i = 0; i < wide.size(); ++i) ASSERT_EQ(narrow[i].bits, to_bfloat16(wide[i]).bits);
}

TEST(CropFlip, DrawsAllPlacesEquallyOften) {
  constexpr int kDraws = 90'000;
  std::vector<int> down(9), right(9);
  int mirrored = 0;
  for (std::int64_t sample = 0; sample < kDraws; ++sample) {
    const CropFlip draw = draw_crop_flip(3, 1, sample);
    ++down.at(static_cast<std::size_t>(draw.down + 4));
    ++right.at(static_cast<std::size_t>(draw.right + 4));
    mirrored += draw.mirrored ? 1 : 0;
  }
  const double spread = 5 * 95;  // five standard deviations of a count of 10,000 in 90,000
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(down[i], kDraws / 9.0, spread);
    EXPECT_NEAR(right[i], kDraws / 9.0, spread);
  }
  EXPECT_NEAR(mirrored, kDraws / 2.0, 5 * 150);
}

TEST(CropFlip, DependsOnSeedEpochAndSample) {
  std::set<std::tuple<std::int64_t, std::int64_t, bool>> by_seed, by_epoch, by_sample;
  const auto as_tuple = [](const CropFlip& draw) { return std::tuple(draw.down, draw.right, draw.mirrored); };
  for (int i = 0; i < 50; ++i) {
    by_seed.insert(as_tuple(draw_crop_flip(static_cast<std::uint64_t>(i), 0, 0)));
    by_epoch.insert(as_tuple(draw_crop_flip(0, i, 0)));
    by_sample.insert(as_tuple(draw_crop_flip(0, 0, i)));
  }
  EXPECT_GT(by_seed.size(), 25U);
  EXPECT_GT(by_epoch.size(), 25U);
  EXPECT_GT(by_sample.size(), 25U);
}

TEST(Augmentation, HasANameThatReadsBack) {
  EXPECT_EQ(augmentation_from_name("none"), Augmentation::none);
  EXPECT_EQ(augmentation_from_name("crop-flip"), Augmentation::crop_flip);
  EXPECT_EQ(augmentation_from_name("cropflip"), std::nullopt);
}

}  // namespace
}  // namespace thimble
