#include "data/cifar100.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "data/fake_files.h"

namespace thimble {
namespace {

using namespace test;

TEST(Cifar100, CountsSamplesAndNamesItsHundredClasses) {
  const TemporaryFolder folder;
  write_fake_cifar100(folder);
  const auto dataset = open_cifar100(folder.path());
  EXPECT_EQ(dataset->count(Split::train), kFakeCifar100Train);
  EXPECT_EQ(dataset->count(Split::test), kFakeCifar100Test);
  EXPECT_EQ(dataset->info().sample_shape, Shape({32, 32, 3}));
  ASSERT_EQ(dataset->class_count(), 100);
  EXPECT_EQ(dataset->info().class_names.front(), "apple");
  EXPECT_EQ(dataset->info().class_names[53], "orange");
  EXPECT_EQ(dataset->info().class_names.back(), "worm");
}

TEST(Cifar100, GivesTheFineLabelAndThePixelsBehindBothLabels) {
  const TemporaryFolder folder;
  write_fake_cifar100(folder);
  const auto dataset = open_cifar100(folder.path());
  std::array<std::uint8_t, 3072> pixels;
  for (const Split split : {Split::train, Split::test}) {
    for (std::int64_t index = 0; index < dataset->count(split); ++index) {
      const std::int64_t sample = split == Split::train ? index : 50 + index;
      EXPECT_EQ(dataset->read(split, index, pixels), 99 - sample);
      for (std::int64_t k = 0; k < 3072; ++k) {
        ASSERT_EQ(pixels[static_cast<std::size_t>(k)], fake_pixel(sample, k % 3 * 1024 + k / 3))
            << name_of(split) << " sample " << index << ", byte " << k;
      }
    }
  }
}

TEST(Cifar100, NamesFileAndOffsetOfABadFineLabelAndCaresForNoCoarseOne) {
  const TemporaryFolder folder;
  write_fake_cifar100(folder);
  ByteList bytes = cifar100_records(0, 3);
  bytes[0] = 255;
  bytes[2 * 3074 + 1] = 100;
  folder.write("train.bin", bytes);
  const auto dataset = open_cifar100(folder.path());
  std::array<std::uint8_t, 3072> pixels;
  EXPECT_EQ(dataset->read(Split::train, 0, pixels), 99);
  expect_user_error([&] { dataset->read(Split::train, 2, pixels); },
                    {"train.bin", "offset 6149", "label 100", "wanted 0 to 99"});
}

TEST(Cifar100, RefusesAFileOfCifar10sRecords) {
  const TemporaryFolder folder;
  write_fake_cifar100(folder);
  folder.write("test.bin", cifar_records(0, 2));
  expect_user_error([&] { open_cifar100(folder.path()); },
                    {"test.bin", "found 6146 bytes", "multiple of 3074", "2 labels"});
}

TEST(Cifar100, IsToldByBothItsFiles) {
  const TemporaryFolder folder;
  write_fake_cifar100(folder);
  EXPECT_TRUE(is_cifar100_folder(folder.path()));
  folder.remove("test.bin");
  EXPECT_FALSE(is_cifar100_folder(folder.path()));
}

}  // namespace
}  // namespace thimble
