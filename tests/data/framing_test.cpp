#include "data/framing.h"

#include <gtest/gtest.h>

#include <vector>

namespace thimble {
namespace {

constexpr PictureSize kPictures[] = {{1, 1}, {1, 5000}, {5000, 1}, {37, 91}, {375, 500}, {4000, 3000}};
constexpr PictureSize kSampleSizes[] = {{224, 224}, {32, 32}, {100, 50}, {1, 7}};

void expect_within(const Window& window, PictureSize picture) {
  constexpr double kRounding = 1e-9;
  EXPECT_GE(window.top, 0);
  EXPECT_GE(window.left, 0);
  EXPECT_GT(window.height, 0);
  EXPECT_GT(window.width, 0);
  EXPECT_LE(window.top + window.height, static_cast<double>(picture.height) + kRounding);
  EXPECT_LE(window.left + window.width, static_cast<double>(picture.width) + kRounding);
}

TEST(Framing, TheMiddleIsSevenEighthsOfTheShorterSide) {
  const Window window = window_of({}, {512, 1024}, {224, 224});
  EXPECT_DOUBLE_EQ(window.height, 448);
  EXPECT_DOUBLE_EQ(window.width, 448);
  EXPECT_DOUBLE_EQ(window.top, 32);
  EXPECT_DOUBLE_EQ(window.left, 288);
}

TEST(Framing, StaysWithinEveryPicture) {
  for (const PictureSize picture : kPictures) {
    for (const PictureSize sample : kSampleSizes) {
      for (const Augmentation kind : {Augmentation::none, Augmentation::crop_flip, Augmentation::resized_crop}) {
        for (std::int64_t index = 0; index < 50; ++index) {
          expect_within(window_of(make_framing(kind, 3, 1, index), picture, sample), picture);
        }
      }
    }
  }
}

TEST(Framing, ACropHasTheSizeOfTheMiddleAndReachesAllOfThePicture) {
  double least = 1e9, most = 0;
  for (std::int64_t index = 0; index < 500; ++index) {
    const Window window = window_of(make_framing(Augmentation::crop_flip, 1, 0, index), {256, 512}, {224, 224});
    EXPECT_DOUBLE_EQ(window.height, 224);
    EXPECT_DOUBLE_EQ(window.width, 224);
    least = std::min(least, window.left);
    most = std::max(most, window.left);
  }
  EXPECT_LT(least, 5);
  EXPECT_GT(most, 512 - 224 - 5);
}

TEST(Framing, AResizedCropHasAnEighthToAllOfTheAreaAndMildShapes) {
  double least = 1e9, most = 0;
  for (std::int64_t index = 0; index < 1000; ++index) {
    const Window window = window_of(make_framing(Augmentation::resized_crop, 1, 0, index), {400, 600}, {224, 224});
    const double area = window.height * window.width / (400 * 600), ratio = window.width / window.height;
    least = std::min(least, area);
    most = std::max(most, area);
    EXPECT_GT(ratio, 0.74);
    EXPECT_LT(ratio, 1.35);
  }
  EXPECT_NEAR(least, 0.08, 0.01);
  EXPECT_GT(most, 0.85);
  EXPECT_LE(most, 1);
}

TEST(Framing, APictureTooLongForAnyResizedCropGivesItsMiddle) {
  const Window window = window_of(make_framing(Augmentation::resized_crop, 1, 0, 0), {10, 5000}, {20, 20});
  EXPECT_DOUBLE_EQ(window.height, 10);
  EXPECT_DOUBLE_EQ(window.width, 10);
  EXPECT_DOUBLE_EQ(window.left, 2495);
}

TEST(Framing, DependsOnSeedEpochAndSampleAlone) {
  const auto left = [](std::uint64_t seed, std::int64_t epoch, std::int64_t sample) {
    return window_of(make_framing(Augmentation::resized_crop, seed, epoch, sample), {400, 600}, {224, 224}).left;
  };
  EXPECT_EQ(left(1, 2, 3), left(1, 2, 3));
  EXPECT_NE(left(1, 2, 3), left(2, 2, 3));
  EXPECT_NE(left(1, 2, 3), left(1, 3, 3));
  EXPECT_NE(left(1, 2, 3), left(1, 2, 4));
}

TEST(AugmentationNames, ReadBackAsTheyAreWritten) {
  for (const Augmentation kind : {Augmentation::none, Augmentation::crop_flip, Augmentation::resized_crop}) {
    EXPECT_EQ(augmentation_from_name(name_of(kind)), kind);
  }
  EXPECT_FALSE(augmentation_from_name("flip"));
}

}  // namespace
}  // namespace thimble
