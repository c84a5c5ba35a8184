#include "data/image_folder.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "data/fake_pictures.h"
#include "data/loader.h"
#include "data/open.h"
#include "data/picture_index.h"

namespace thimble {
namespace {

using namespace test;

const ImageFolderOptions kSmall = {.sample = {16, 16, 3}};

ByteList one_colour(int red, int green, int blue, std::int64_t height = 20, std::int64_t width = 24) {
  const std::array<int, 3> colour = {red, green, blue};
  return encode_png(
      paint(height, width, [&](auto, auto, std::int64_t c) { return colour[static_cast<std::size_t>(c)]; }),
      PngKind::rgb);
}

// Two classes of three and two training pictures and one test picture each; the red channel numbers them.
void write_small_folder(const TemporaryFolder& folder, const std::string& test_name = "val") {
  folder.write("train/bees/b.png", one_colour(4, 0, 0));
  folder.write("train/bees/a.PNG", one_colour(3, 0, 0, 50, 17));
  folder.write("train/ants/z.jpg", encode_jpeg(paint(30, 30, [](auto, auto, auto) { return 2; }), JpegKind::baseline));
  folder.write("train/ants/10.png", one_colour(0, 0, 0));
  folder.write("train/ants/9.jpeg", one_colour(1, 0, 0));
  folder.write(test_name + "/ants/t.png", one_colour(10, 0, 0));
  folder.write(test_name + "/bees/t.png", one_colour(11, 0, 0));
}

struct Sample {
  std::int32_t label;
  int red;
};

Sample read_sample(const Dataset& dataset, Split split, std::int64_t index) {
  ByteList pixels(static_cast<std::size_t>(dataset.info().sample_shape.count()));
  const std::int32_t label = dataset.read(split, index, pixels);
  return {label, pixels.front()};
}

TEST(ImageFolder, NumbersClassesAndPicturesInOrderOfTheirNames) {
  const TemporaryFolder folder;
  write_small_folder(folder);
  const auto dataset = open_image_folder(folder.path(), kSmall);
  EXPECT_EQ(dataset->info().class_names, (std::vector<std::string>{"ants", "bees"}));
  EXPECT_EQ(dataset->info().sample_shape, Shape({16, 16, 3}));
  ASSERT_EQ(dataset->count(Split::train), 5);
  ASSERT_EQ(dataset->count(Split::test), 2);
  for (int index = 0; index < 5; ++index) {
    const Sample sample = read_sample(*dataset, Split::train, index);
    EXPECT_EQ(sample.red, index);
    EXPECT_EQ(sample.label, index < 3 ? 0 : 1);
  }
  for (int index = 0; index < 2; ++index) {
    const Sample sample = read_sample(*dataset, Split::test, index);
    EXPECT_EQ(sample.red, 10 + index);
    EXPECT_EQ(sample.label, index);
  }
}

TEST(ImageFolder, TakesTestWhereThereIsNoVal) {
  const TemporaryFolder folder;
  write_small_folder(folder, "test");
  EXPECT_EQ(open_image_folder(folder.path(), kSmall)->count(Split::test), 2);
}

TEST(ImageFolder, PassesOverHiddenFilesAndThoseThatAreNoPictures) {
  const TemporaryFolder folder;
  write_small_folder(folder);
  folder.write("train/ants/._9.jpeg", {1, 2, 3});
  folder.write("train/ants/notes.txt", {1, 2, 3});
  folder.write("train/ants/deeper/more.txt", {1, 2, 3});
  folder.write("train/.cache/x.jpg", {1, 2, 3});
  folder.write("train/README", {1, 2, 3});
  EXPECT_EQ(open_image_folder(folder.path(), kSmall)->count(Split::train), 5);
}

TEST(ImageFolder, SaysWhatItWants) {
  const TemporaryFolder folder;
  const auto open = [&] { open_dataset(folder.path(), {}); };
  folder.write("ants/1.jpg", {});
  expect_user_error(open, {folder.path(), "train/CLASS/*.jpg", "val/CLASS/*.jpg"});
  folder.write("train/ants/1.jpg", {});
  expect_user_error(open, {folder.path(), "train/", "neither val/ nor test/"});
  folder.write("val/ants/1.jpg", {});
  expect_user_error(open, {"/train", "found 1 folder", "two classes"});
  folder.write("train/bees/notes.txt", {});
  expect_user_error(open, {"/train/bees", "class without pictures"});
  folder.write("train/bees/2.webp", {});
  expect_user_error(open, {"/train/bees/2.webp", "kind webp", ".jpg, .jpeg or .png"});
  folder.remove("train/bees/2.webp");
  folder.write("train/bees/2.png", {});
  folder.write("val/wasps/1.jpg", {});
  expect_user_error(open, {"/val/wasps", "does not have"});
}

TEST(ImageFolder, NamesAPictureThatDoesNotDecode) {
  const TemporaryFolder folder;
  write_small_folder(folder);
  folder.write("train/ants/10.png", {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n', 0});
  const auto dataset = open_image_folder(folder.path(), kSmall);
  expect_user_error([&] { read_sample(*dataset, Split::train, 0); }, {"train/ants/10.png", "no sound PNG"});
  folder.remove("train/ants/10.png");
  expect_user_error([&] { read_sample(*dataset, Split::train, 0); }, {"train/ants/10.png", "cannot be opened"});
}

TEST(ImageFolder, MakesGreySamplesOfOneChannelAndRefusesOthers) {
  const TemporaryFolder folder;
  write_small_folder(folder);
  EXPECT_EQ(open_image_folder(folder.path(), {.sample = {8, 8, 1}})->info().mean.size(), 1U);
  expect_user_error([&] { open_image_folder(folder.path(), {.sample = {8, 8, 4}}); }, {"[8,8,4]", "3 channels"});
}

TEST(OpenDataset, TellsPicturesByTheirFolderTrain) {
  const TemporaryFolder folder;
  write_small_folder(folder);
  const auto dataset = open_dataset(folder.path() + "/", {.picture = {8, 12, 3}});
  EXPECT_EQ(dataset->info().sample_shape, Shape({8, 12, 3}));
  EXPECT_EQ(folder.path().substr(folder.path().rfind('/') + 1), dataset->info().name);
}

// ---- The list of files

TEST(PictureIndex, IsTheSameHoweverLittleMemoryItIsSortedIn) {
  const TemporaryFolder folder;
  const std::vector<std::string> classes = {"a", "b", "c"};
  for (int i = 0; i < 200; ++i)
    folder.write("train/" + classes[static_cast<std::size_t>(i % 2) * 2] + "/" + std::to_string(i * 37 % 1000) + ".jpg",
                 {});
  const PictureIndex whole(folder.path() + "/train", classes, {folder.path()});
  const PictureIndex pieces(folder.path() + "/train", classes, {folder.path()},
                            {.piece_bytes = 64, .merged_at_once = 2});
  ASSERT_EQ(whole.count(), 200);
  ASSERT_EQ(pieces.count(), 200);
  EXPECT_EQ(whole.hash(), pieces.hash());
  EXPECT_EQ(whole.first_empty(), 1);
  PictureEntry before = whole.at(0);
  for (std::int64_t i = 0; i < 200; ++i) {
    const PictureEntry entry = whole.at(i), twin = pieces.at(i);
    EXPECT_EQ(entry.label, i < 100 ? 0 : 2);
    EXPECT_EQ(entry.name, twin.name);
    EXPECT_EQ(entry.label, twin.label);
    if (i % 100 > 0) {
      EXPECT_LT(before.name, entry.name);
    }
    before = entry;
  }
}

TEST(PictureIndex, ItsHashKnowsEveryNameAndItsClass) {
  const TemporaryFolder folder;
  const std::vector<std::string> classes = {"a", "b"};
  const auto hash = [&] { return PictureIndex(folder.path(), classes, {"/tmp"}).hash(); };
  folder.write("a/1.jpg", {});
  folder.write("b/2.jpg", {});
  const std::uint64_t first = hash();
  EXPECT_EQ(hash(), first);
  folder.remove("b/2.jpg");
  folder.write("a/2.jpg", {});
  const std::uint64_t moved = hash();
  folder.remove("a/2.jpg");
  folder.write("b/3.jpg", {});
  EXPECT_NE(moved, first);
  EXPECT_NE(hash(), first);
  EXPECT_NE(hash(), moved);
}

// ---- Through the loader

struct LoadedFolder {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};

LoadedFolder load(const Dataset& dataset, Augmentation augmentation, int threads, std::int64_t epoch = 0) {
  Loader loader(dataset, {.batch = 5, .seed = 4, .augmentation = augmentation, .threads = threads});
  LoadedFolder batch{std::vector<float>(static_cast<std::size_t>(5 * dataset.info().sample_shape.count())),
                     std::vector<std::int32_t>(5)};
  const Shape& shape = dataset.info().sample_shape;
  loader.fill({epoch, 0}, 0, 5, {batch.images.data(), DType::f32, {5, shape[0], shape[1], shape[2]}},
              {batch.labels.data(), DType::i32, {5}});
  return batch;
}

void write_smooth_folder(const TemporaryFolder& folder) {
  for (int i = 0; i < 5; ++i) {
    folder.write("train/" + std::string(i < 2 ? "a" : "b") + "/" + std::to_string(i) + ".jpg",
                 encode_jpeg(paint_smooth(40 + 13 * i, 60 - 7 * i), JpegKind::baseline));
  }
  folder.write("val/a/1.jpg", encode_jpeg(paint_smooth(30, 30), JpegKind::baseline));
}

TEST(ImageFolder, AugmentsTheSameWithAnyNumberOfThreadsAndAnewEachEpoch) {
  const TemporaryFolder folder;
  write_smooth_folder(folder);
  const auto dataset = open_image_folder(folder.path(), kSmall);
  for (const Augmentation kind : {Augmentation::none, Augmentation::crop_flip, Augmentation::resized_crop}) {
    const LoadedFolder batch = load(*dataset, kind, 1);
    EXPECT_EQ(load(*dataset, kind, 3).images, batch.images) << name_of(kind);
    EXPECT_EQ(load(*dataset, kind, 1).labels, batch.labels) << name_of(kind);
    if (kind != Augmentation::none) {
      EXPECT_NE(load(*dataset, kind, 1, 1).images, batch.images) << name_of(kind);
    }
  }
  EXPECT_NE(load(*dataset, Augmentation::none, 1).images, load(*dataset, Augmentation::crop_flip, 1).images);
}

TEST(ImageFolder, TheLoadersMemoryIsWhatThePlanCounts) {
  const TemporaryFolder folder;
  write_smooth_folder(folder);
  const auto dataset = open_image_folder(folder.path(), kSmall);
  const Loader loader(*dataset, {.batch = 5, .threads = 3});
  EXPECT_EQ(loader.buffer_bytes(), 3 * (16 * 16 * 3 + dataset->workspace_bytes()));
  EXPECT_EQ(loading_bytes(*dataset, 3), loader.buffer_bytes() + dataset->resident_bytes());
}

TEST(Loader, SharesMemoryWithAnotherThatTakesTurns) {
  const TemporaryFolder folder;
  write_smooth_folder(folder);
  const auto dataset = open_image_folder(folder.path(), kSmall);
  LoaderMemory memory(*dataset, 2);
  const Loader train(*dataset, {.batch = 5, .threads = 2}, memory);
  const Loader test(*dataset, {.split = Split::test, .batch = 1, .threads = 2}, memory);
  EXPECT_EQ(train.buffer_bytes(), memory.bytes());
  EXPECT_EQ(test.buffer_bytes(), memory.bytes());
  EXPECT_THROW(Loader(*dataset, {.batch = 5, .threads = 3}, memory), InternalError);
}

}  // namespace
}  // namespace thimble
