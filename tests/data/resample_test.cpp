#include "data/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/fake_pictures.h"

namespace thimble {
namespace {

using namespace test;

constexpr std::int64_t kRoom = 4 << 20;

std::vector<std::byte>& block() {
  static std::vector<std::byte> bytes(kRoom);
  return bytes;
}

ByteList resample(const Pixels& picture, const Window& window, const Shape& sample) {
  Workspace workspace(block());
  Resampler resampler(picture.size, window, sample, workspace, "picture");
  for (std::int64_t y = 0; y < picture.size.height; ++y) {
    ByteList row(picture.bytes.begin() + y * picture.size.width * 3,
                 picture.bytes.begin() + (y + 1) * picture.size.width * 3);
    resampler.add({.row = y, .pixels = row});
  }
  ByteList out(static_cast<std::size_t>(sample.count()));
  resampler.write(out);
  return out;
}

Window whole(const Pixels& picture) {
  return {0, 0, static_cast<double>(picture.size.height), static_cast<double>(picture.size.width)};
}

// The same filter by its definition, in doubles and with no thought for speed.
double reference(const Pixels& picture, const Window& window, const Shape& sample, std::int64_t y, std::int64_t x,
                 std::int64_t c) {
  const auto weights = [](std::int64_t input, double begin, double length, std::int64_t output, std::int64_t i) {
    const double scale = length / static_cast<double>(output), support = std::max(scale, 1.0);
    const double centre = begin + (static_cast<double>(i) + 0.5) * scale;
    std::vector<double> list;
    for (std::int64_t k = 0; k < input; ++k) {
      list.push_back(std::max(0.0, 1 - std::abs(static_cast<double>(k) + 0.5 - centre) / support));
    }
    const double sum = std::accumulate(list.begin(), list.end(), 0.0);
    for (double& weight : list) weight /= sum;
    return list;
  };
  const auto down = weights(picture.size.height, window.top, window.height, sample[0], y);
  const auto right = weights(picture.size.width, window.left, window.width, sample[1], x);
  double value = 0;
  for (std::int64_t i = 0; i < picture.size.height; ++i) {
    for (std::int64_t j = 0; j < picture.size.width; ++j) {
      value += down[static_cast<std::size_t>(i)] * right[static_cast<std::size_t>(j)] * picture.at(i, j, c);
    }
  }
  return value;
}

Pixels noise(std::int64_t height, std::int64_t width) {
  return paint(height, width,
               [](std::int64_t y, std::int64_t x, std::int64_t c) { return fake_pixel(y * 131 + x * 29, c * 50 + x); });
}

TEST(Resample, KeepsAPictureOfTheSameSize) {
  const Pixels picture = noise(13, 9);
  EXPECT_EQ(resample(picture, whole(picture), {13, 9, 3}), picture.bytes);
}

TEST(Resample, KeepsOneColourAtEveryScale) {
  const Pixels picture = paint(50, 70, [](auto, auto, std::int64_t c) { return c == 0 ? 255 : c == 1 ? 0 : 137; });
  for (const Shape& sample : {Shape{7, 5, 3}, Shape{50, 70, 3}, Shape{99, 200, 3}, Shape{1, 1, 3}}) {
    const ByteList out = resample(picture, {3.7, 10.2, 40.1, 33.3}, sample);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], i % 3 == 0 ? 255 : i % 3 == 1 ? 0 : 137) << to_text(sample) << ' ' << i;
    }
  }
}

TEST(Resample, AgreesWithItsDefinition) {
  const Pixels picture = noise(31, 47);
  const Window windows[] = {whole(picture), {4.25, 7.5, 20.5, 31.75}, {0, 40, 6, 7}, {30.5, 46.5, 0.5, 0.5}};
  for (const Window& window : windows) {
    for (const Shape& sample : {Shape{8, 8, 3}, Shape{16, 5, 3}, Shape{40, 60, 3}}) {
      const ByteList out = resample(picture, window, sample);
      for (std::int64_t y = 0; y < sample[0]; ++y) {
        for (std::int64_t x = 0; x < sample[1]; ++x) {
          for (std::int64_t c = 0; c < 3; ++c) {
            const double wanted = reference(picture, window, sample, y, x, c);
            ASSERT_NEAR(out[static_cast<std::size_t>((y * sample[1] + x) * 3 + c)], wanted, 0.53)
                << to_text(sample) << ' ' << y << ' ' << x;
          }
        }
      }
    }
  }
}

TEST(Resample, TheOrderOfRowsChangesNothing) {
  const Pixels picture = noise(40, 30);
  const Shape sample{11, 9, 3};
  Workspace workspace(block());
  Resampler resampler(picture.size, whole(picture), sample, workspace, "picture");
  for (std::int64_t i = 0; i < 40; ++i) {
    const std::int64_t y = i * 27 % 40;
    ByteList row(picture.bytes.begin() + y * 90, picture.bytes.begin() + (y + 1) * 90);
    resampler.add({.row = y, .pixels = row});
  }
  ByteList out(static_cast<std::size_t>(sample.count()));
  resampler.write(out);
  EXPECT_EQ(out, resample(picture, whole(picture), sample));
}

TEST(Resample, ARowMayComeInParts) {
  const Pixels picture = noise(20, 30);
  const Shape sample{9, 7, 3};
  Workspace workspace(block());
  Resampler resampler(picture.size, whole(picture), sample, workspace, "picture");
  for (std::int64_t y = 0; y < 20; ++y) {
    for (std::int64_t first = 0; first < 4; ++first) {
      ByteList part;
      for (std::int64_t x = first; x < 30; x += 4) {
        for (std::int64_t c = 0; c < 3; ++c) part.push_back(picture.at(y, x, c));
      }
      resampler.add({.row = y, .column = first, .step = 4, .pixels = part});
    }
  }
  ByteList out(static_cast<std::size_t>(sample.count()));
  resampler.write(out);
  const ByteList wanted = resample(picture, whole(picture), sample);
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], wanted[i], 1);
}

TEST(Resample, MakesGreyOfColours) {
  const Pixels picture = paint(4, 4, [](auto, auto, std::int64_t c) { return c == 0 ? 200 : c == 1 ? 100 : 50; });
  EXPECT_EQ(resample(picture, whole(picture), {2, 2, 1}), ByteList(4, 124));  // 0.299 * 200 + 0.587 * 100 + 0.114 * 50
}

TEST(Resample, WeightsOfEveryPlaceAreOneTogether) {
  Workspace workspace(block());
  for (const double length : {1.0, 3.3, 250.0, 4999.5}) {
    const ResampleAxis axis(5000, 0.25, length, 61, workspace, "picture");
    for (std::int64_t i = 0; i < axis.size(); ++i) {
      const auto weights = axis.weights(i);
      EXPECT_EQ(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}), 65536U) << length << ' ' << i;
    }
  }
}

TEST(Resample, SaysSoWhereTheWorkspaceDoesNotSuffice) {
  std::vector<std::byte> little(1000);
  Workspace workspace(little);
  expect_user_error(
      [&] {
        Resampler({100, 100}, {0, 0, 100, 100}, {32, 32, 3}, workspace, "a.jpg");
      },
      {"a.jpg", "more than the 1000 bytes"});
}

}  // namespace
}  // namespace thimble
