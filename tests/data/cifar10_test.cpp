#include "data/cifar10.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "base/error.h"
#include "data/fake_files.h"

namespace thimble {
namespace {

using namespace test;

TEST(Cifar10, CountsSamplesFromTheSizesOfItsFiles) {
  const TemporaryFolder folder;
  write_fake_cifar(folder);
  const auto dataset = open_cifar10(folder.path());
  EXPECT_EQ(dataset->count(Split::train), kFakeCifarTrain);
  EXPECT_EQ(dataset->count(Split::test), kFakeCifarTest);
  EXPECT_EQ(dataset->info().sample_shape, Shape({32, 32, 3}));
  EXPECT_EQ(dataset->class_count(), 10);
}

TEST(Cifar10, ReadsEverySampleOfEveryFileAndInterleavesItsPlanes) {
  const TemporaryFolder folder;
  write_fake_cifar(folder);
  const auto dataset = open_cifar10(folder.path());
  std::array<std::uint8_t, 3072> pixels;
  for (const Split split : {Split::train, Split::test}) {
    for (std::int64_t index = 0; index < dataset->count(split); ++index) {
      const std::int64_t sample = split == Split::train ? index : 100 + index;
      EXPECT_EQ(dataset->read(split, index, pixels), sample % 10);
      for (std::int64_t k = 0; k < 3072; ++k) {
        const std::int64_t pixel = k / 3, channel = k % 3;
        ASSERT_EQ(pixels[static_cast<std::size_t>(k)], fake_pixel(sample, channel * 1024 + pixel))
            << name_of(split) << " sample " << index << ", byte " << k;
      }
    }
  }
}

TEST(Cifar10, NamesAMissingFile) {
  const TemporaryFolder folder;
  write_fake_cifar(folder);
  folder.remove("data_batch_4.bin");
  expect_user_error([&] { open_cifar10(folder.path()); }, {"data_batch_4.bin", "No such file"});
}

TEST(Cifar10, RefusesAFileThatIsNoMultipleOfARecord) {
  const TemporaryFolder folder;
  write_fake_cifar(folder);
  ByteList bytes = cifar_records(0, 2);
  bytes.pop_back();
  folder.write("data_batch_2.bin", bytes);
  expect_user_error([&] { open_cifar10(folder.path()); }, {"data_batch_2.bin", "found 6145 bytes", "3073"});
}

TEST(Cifar10, RefusesAnEmptyFileAndAFolderInPlaceOfAFile) {
  const TemporaryFolder folder;
  write_fake_cifar(folder);
  folder.write("test_batch.bin", {});
  expect_user_error([&] { open_cifar10(folder.path()); }, {"test_batch.bin", "found 0 bytes"});
  folder.remove("test_batch.bin");
  folder.write("test_batch.bin/inner", {});
  expect_user_error([&] { open_cifar10(folder.path()); }, {"test_batch.bin", "regular file"});
}

TEST(Cifar10, NamesFileAndOffsetOfABadLabel) {
  const TemporaryFolder folder;
  write_fake_cifar(folder);
  ByteList bytes = cifar_records(3, 3);
  bytes[2 * 3073] = 10;
  folder.write("data_batch_3.bin", bytes);
  const auto dataset = open_cifar10(folder.path());
  std::array<std::uint8_t, 3072> pixels;
  EXPECT_EQ(dataset->read(Split::train, 4, pixels), 4);
  expect_user_error([&] { dataset->read(Split::train, 5, pixels); },
                    {"data_batch_3.bin", "offset 6146", "label 10", "wanted 0 to 9"});
}

TEST(Cifar10, NoticesAFileThatShrinksWhileOpen) {
  const TemporaryFolder folder;
  write_fake_cifar(folder);
  const auto dataset = open_cifar10(folder.path());
  ASSERT_EQ(::truncate((folder.path() + "/test_batch.bin").c_str(), 3073 + 100), 0);
  std::array<std::uint8_t, 3072> pixels;
  EXPECT_EQ(dataset->read(Split::test, 0, pixels), 0);
  expect_user_error([&] { dataset->read(Split::test, 1, pixels); },
                    {"test_batch.bin", "offset 3073", "found 100 bytes", "wanted 3073"});
}

TEST(Cifar10, AnIndexOrABufferOfTheWrongSizeIsOurOwnError) {
  const TemporaryFolder folder;
  write_fake_cifar(folder);
  const auto dataset = open_cifar10(folder.path());
  std::array<std::uint8_t, 3072> pixels;
  EXPECT_THROW(dataset->read(Split::train, kFakeCifarTrain, pixels), InternalError);
  EXPECT_THROW(dataset->read(Split::train, -1, pixels), InternalError);
  EXPECT_THROW(dataset->read(Split::train, 0, std::span(pixels).first(3071)), InternalError);
}

}  // namespace
}  // namespace thimble
