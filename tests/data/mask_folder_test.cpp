// Pictures with masks in folders: values of a mask are classes and stay what they are, wherever the picture is cut.
#include "data/mask_folder.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "data/fake_pictures.h"
#include "data/loader.h"
#include "data/mask_picture.h"
#include "data/open.h"
#include "data/picture.h"

namespace thimble {
namespace {

using namespace test;

const ImageFolderOptions kSmallMasks = {.sample = {16, 16, 3}};

ByteList bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// A slanted edge: 1 on its right side, 0 on its left.
int class_at(std::int64_t y, std::int64_t x, std::int64_t width) { return 3 * x > width + y ? 1 : 0; }

Pixels paint_classes(std::int64_t height, std::int64_t width, int step) {
  return paint(height, width, [&](std::int64_t y, std::int64_t x, auto) { return step * class_at(y, x, width); });
}

void write_pair(const TemporaryFolder& folder, const std::string& split, const std::string& name, std::int64_t height,
                std::int64_t width) {
  folder.write(split + "/images/" + name + ".png", encode_png(paint_classes(height, width, 200), PngKind::rgb));
  folder.write(split + "/masks/" + name + ".png", encode_png(paint_classes(height, width, 1), PngKind::grey));
}

void write_mask_folder(const TemporaryFolder& folder) {
  write_pair(folder, "train", "b", 80, 64);
  write_pair(folder, "train", "a", 40, 130);
  write_pair(folder, "train", "c", 17, 300);
  write_pair(folder, "val", "t", 64, 64);
  folder.write("classes.txt", bytes_of("left\nright\n"));
}

TEST(MaskFolder, SaysWhatItHolds) {
  const TemporaryFolder folder;
  write_mask_folder(folder);
  const auto dataset = open_dataset(folder.path(), {.picture = {16, 24, 3}});
  EXPECT_TRUE(dataset->info().has_masks);
  EXPECT_TRUE(dataset->is_framed());
  EXPECT_EQ(dataset->info().class_names, (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(dataset->info().sample_shape, Shape({16, 24, 3}));
  EXPECT_EQ(dataset->count(Split::train), 3);
  EXPECT_EQ(dataset->count(Split::test), 1);
  EXPECT_FALSE(dataset->info().contents.empty());
}

// A pixel of one pure colour shows nothing but its class, so its mask must say the same; only edges are mixed.
TEST(MaskFolder, MasksFollowTheirPicturesThroughEveryAugmentation) {
  const TemporaryFolder folder;
  write_mask_folder(folder);
  const auto dataset = open_mask_folder(folder.path(), kSmallMasks);
  const Normalizer normalizer(dataset->info());
  for (const Augmentation kind : {Augmentation::none, Augmentation::crop_flip, Augmentation::resized_crop}) {
    Loader loader(*dataset, {.batch = 3, .seed = 4, .augmentation = kind, .threads = 2});
    std::vector<float> images(3 * 256 * 3);
    std::vector<std::int32_t> labels(3 * 256);
    std::array<int, 2> pure{};
    for (std::int64_t epoch = 0; epoch < 10; ++epoch) {
      loader.fill({epoch, 0}, 0, 3, {images.data(), DType::f32, {3, 16, 16, 3}},
                  {labels.data(), DType::i32, {3, 16, 16}});
      for (std::size_t i = 0; i < labels.size(); ++i) {
        for (const int value : {0, 1}) {
          if (images[3 * i] != normalizer.value(0, static_cast<std::uint8_t>(200 * value))) continue;
          ++pure[static_cast<std::size_t>(value)];
          ASSERT_EQ(labels[i], value) << name_of(kind) << ", epoch " << epoch << ", place " << i;
        }
      }
    }
    EXPECT_GT(pure[0], 1000) << name_of(kind);
    EXPECT_GT(pure[1], 1000) << name_of(kind);
  }
}

TEST(MaskFolder, TheLoadersMemoryIsWhatThePlanCounts) {
  const TemporaryFolder folder;
  write_mask_folder(folder);
  const auto dataset = open_mask_folder(folder.path(), kSmallMasks);
  const Loader loader(*dataset, {.batch = 3, .threads = 3});
  EXPECT_EQ(loader.buffer_bytes(), 3 * (16 * 16 * 3 + 16 * 16 + dataset->workspace_bytes()));
  EXPECT_EQ(loading_bytes(*dataset, 3), loader.buffer_bytes() + dataset->resident_bytes());
}

TEST(MaskFolder, SaysWhatItWants) {
  const TemporaryFolder folder;
  const auto open = [&] { open_dataset(folder.path(), {}); };
  write_pair(folder, "train", "a", 20, 20);
  expect_user_error(open, {"/classes.txt", "no such file", "names of the classes"});
  folder.write("classes.txt", bytes_of("one\n"));
  expect_user_error(open, {"/classes.txt", "found 1 name", "two classes or more"});
  folder.write("classes.txt", bytes_of("one\n\nthree\n"));
  expect_user_error(open, {"/classes.txt", "nothing in line 2"});
  folder.write("classes.txt", bytes_of("one\r\ntwo\r\none\r\n"));
  expect_user_error(open, {"/classes.txt", "found 'one' twice"});
  std::string many;
  for (int i = 0; i < 257; ++i) many += std::to_string(i) + "\n";
  folder.write("classes.txt", bytes_of(many));
  expect_user_error(open, {"/classes.txt", "more than 256 classes"});
  folder.write("classes.txt", ByteList(100'000, 'x'));
  expect_user_error(open, {"/classes.txt", "found 100000 bytes, wanted at most 65536"});
  folder.write("classes.txt", bytes_of("one\r\ntwo"));
  expect_user_error(open, {"neither val/ nor test/", "val/images/ and masks/"});
  folder.write("val/images/notes.txt", {});
  expect_user_error(open, {"/val: found no pictures", "images/NAME.jpg"});
  folder.write("val/images/b.jpg", {});
  expect_user_error(open, {"/val/masks/b.png", "no such file", "the mask of images/b.jpg"});
  write_pair(folder, "val", "b", 20, 20);
  EXPECT_EQ(open_dataset(folder.path(), {})->info().class_names, (std::vector<std::string>{"one", "two"}));
}

TEST(MaskFolder, AFolderOfClassesIsNoneOfMasks) {
  const TemporaryFolder folder;
  folder.write("train/images/a.png", encode_png(paint_smooth(8, 8), PngKind::rgb));
  folder.write("train/others/a.png", encode_png(paint_smooth(8, 8), PngKind::rgb));
  folder.write("val/others/a.png", encode_png(paint_smooth(8, 8), PngKind::rgb));
  EXPECT_FALSE(open_dataset(folder.path(), {})->info().has_masks);
}

// ---- One mask

// The middle 14x14 of 16x16 pixels, neither enlarged nor reduced: what `none` frames.
ByteList read_middle(const TemporaryFolder& folder, const ByteList& bytes, std::int64_t classes = 256) {
  const InputFile file(folder.write("mask.png", bytes));
  ByteList mask(14 * 14);
  std::vector<std::byte> workspace(static_cast<std::size_t>(picture_workspace_bytes({14, 14, 3})));
  read_mask(file, {.framing = {}, .picture = {16, 16}, .sample = {14, 14}, .classes = classes}, mask, workspace);
  return mask;
}

TEST(MaskPicture, ValuesOfEveryKindAreWhatTheFileHolds) {
  const TemporaryFolder folder;
  const Pixels numbered =
      paint(16, 16, [](std::int64_t y, std::int64_t x, auto) { return static_cast<int>(16 * y + x); });
  for (const bool is_interlaced : {false, true}) {
    const ByteList grey = read_middle(folder, encode_png(numbered, PngKind::grey, is_interlaced));
    const ByteList bits = read_middle(folder, encode_png(numbered, PngKind::grey1, is_interlaced), 2);
    const ByteList indices = read_middle(folder, encode_png(numbered, PngKind::palette, is_interlaced), 2);
    for (std::size_t i = 0; i < grey.size(); ++i) {
      const int wanted = static_cast<int>(16 * (i / 14 + 1) + i % 14 + 1);
      ASSERT_EQ(grey[i], wanted) << is_interlaced;
      ASSERT_EQ(bits[i], wanted >> 7) << is_interlaced;
      ASSERT_EQ(indices[i], wanted >> 7) << is_interlaced;
    }
  }
}

TEST(MaskPicture, WhatIsNoMaskIsRefusedByName) {
  const TemporaryFolder folder;
  const auto refuse = [&](const ByteList& bytes, const std::vector<std::string>& said, std::int64_t classes = 256) {
    expect_user_error([&] { read_middle(folder, bytes, classes); }, said);
  };
  const Pixels pixels = paint(16, 16, [](std::int64_t y, std::int64_t x, auto) { return y == 5 && x == 9 ? 7 : 1; });
  refuse(encode_png(pixels, PngKind::rgb), {"mask.png", "found colours of 8 bits", "grey or palette"});
  refuse(encode_png(pixels, PngKind::rgb16), {"mask.png", "found colours of 16 bits"});
  refuse(encode_png(pixels, PngKind::grey_alpha), {"mask.png", "found colours of 8 bits"});
  refuse(encode_jpeg(pixels, JpegKind::grey), {"mask.png", "found no PNG"});
  refuse({}, {"mask.png", "found no PNG"});
  refuse(encode_png(pixels, PngKind::grey), {"found the value 7 in row 5, column 9", "a class from 0 to 6"}, 7);
  refuse(encode_png(pixels, PngKind::grey, true), {"found the value 7 in row 5, column 9"}, 7);
  refuse(encode_png(paint_smooth(16, 17), PngKind::grey), {"found a mask of 17x16 pixels", "the 16x16 of its picture"});
  ByteList cut = encode_png(pixels, PngKind::grey);
  cut.resize(cut.size() - 20);
  refuse(cut, {"mask.png", "no sound PNG"});
}

}  // namespace
}  // namespace thimble
