#include "data/open.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "data/fake_files.h"

namespace thimble {
namespace {

using namespace test;

TEST(OpenDataset, FindsCifar10InTheRootItsOfficialFolderOrItsOwn) {
  for (const char* below : {"", "cifar-10-batches-bin/", "cifar10/", "cifar10/cifar-10-batches-bin/"}) {
    const TemporaryFolder root;
    write_fake_cifar(root, below);
    EXPECT_EQ(open_dataset("cifar10", {.data_root = root.path()})->count(Split::train), kFakeCifarTrain) << below;
  }
}

TEST(OpenDataset, FindsCifar100InTheRootItsOfficialFolderOrItsOwn) {
  for (const char* below : {"", "cifar-100-binary/", "cifar100/", "cifar100/cifar-100-binary/"}) {
    const TemporaryFolder root;
    write_fake_cifar100(root, below);
    EXPECT_EQ(open_dataset("cifar100", {.data_root = root.path()})->count(Split::train), kFakeCifar100Train) << below;
  }
}

TEST(OpenDataset, FindsMnistInTheRootOrItsFolders) {
  for (const char* below : {"", "mnist/", "MNIST/raw/"}) {
    const TemporaryFolder root;
    write_fake_mnist(root, Packing::gzip, below);
    EXPECT_EQ(open_dataset("mnist", {.data_root = root.path()})->count(Split::train), kFakeMnistTrain) << below;
  }
}

TEST(OpenDataset, TellsAFolderByItsContents) {
  const TemporaryFolder cifar, cifar100, mnist;
  write_fake_cifar(cifar, "cifar-10-batches-bin/");
  write_fake_cifar100(cifar100, "cifar-100-binary/");
  write_fake_mnist(mnist, Packing::plain);
  EXPECT_EQ(open_dataset(cifar100.path(), {})->info().name, "cifar100");
  EXPECT_EQ(open_dataset(cifar.path(), {})->info().name, "cifar10");
  EXPECT_EQ(open_dataset(cifar.path() + "/cifar-10-batches-bin/", {})->info().name, "cifar10");
  EXPECT_EQ(open_dataset(mnist.path(), {})->info().name, "mnist");
}

TEST(OpenDataset, DrawsGlyphsWithoutAnyFolder) {
  const auto dataset = open_dataset("glyphs", {.seed = 3}), other = open_dataset("glyphs", {.seed = 4});
  EXPECT_EQ(dataset->info().name, "glyphs");
  std::array<std::uint8_t, 3072> pixels, others;
  dataset->read(Split::train, 0, pixels);
  other->read(Split::train, 0, others);
  EXPECT_NE(pixels, others);
}

TEST(OpenDataset, SuggestsTheNearestName) {
  expect_user_error([] { open_dataset("cifar-10", {}); }, {"'cifar-10' is unknown", "did you mean 'cifar10'"});
  expect_user_error([] { open_dataset("minst", {}); }, {"did you mean 'mnist'"});
  expect_user_error([] { open_dataset("glyph", {}); }, {"did you mean 'glyphs'", "cifar10, cifar100, mnist, glyphs"});
}

TEST(OpenDataset, ListsThePlacesItSearched) {
  const TemporaryFolder root;
  expect_user_error([&] { open_dataset("cifar10", {.data_root = root.path()}); },
                    {"'cifar10' was not found", "data_batch_1.bin", root.path() + "/cifar-10-batches-bin"});
  expect_user_error([] { open_dataset("mnist", {}); }, {"'mnist'", "THIMBLE_DATA"});
}

TEST(OpenDataset, RefusesAFolderThatIsMissingOrHoldsNothingKnown) {
  const TemporaryFolder folder;
  expect_user_error([&] { open_dataset(folder.path() + "/none", {}); }, {"/none", "no such folder"});
  expect_user_error([&] { open_dataset(folder.path(), {}); }, {folder.path(), "no data set", "cifar10:", "mnist:"});
}

TEST(ListDatasets, SaysWhereEachIsLookedForAndWhetherItIsThere) {
  const TemporaryFolder root;
  write_fake_mnist(root, Packing::plain, "mnist/");
  const auto listings = list_datasets(root.path());
  const auto named = [&](std::string_view name) {
    return *std::find_if(listings.begin(), listings.end(), [&](const auto& listing) { return listing.name == name; });
  };
  ASSERT_EQ(listings.size(), 5U);
  EXPECT_FALSE(named("cifar10").is_present);
  EXPECT_EQ(named("cifar10").places.front(), root.path());
  EXPECT_TRUE(named("mnist").is_present);
  EXPECT_EQ(named("mnist").found, root.path() + "/mnist");
  EXPECT_TRUE(named("glyphs").is_present);
  EXPECT_TRUE(named("glyphs").places.empty());
}

// ---- The real thing, where it is at hand

std::unique_ptr<Dataset> open_real(const char* name) {
  const char* root = std::getenv("THIMBLE_DATA");
  if (root == nullptr) return nullptr;
  const auto listings = list_datasets(root);
  const bool is_there = std::any_of(listings.begin(), listings.end(),
                                    [&](const auto& listing) { return listing.name == name && listing.is_present; });
  return is_there ? open_dataset(name, {.data_root = root}) : nullptr;
}

// Share of each class, and the mean of the first channel, over `count` samples.
void expect_ten_equal_classes(const Dataset& dataset, Split split, double tolerance) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(dataset.info().sample_shape.count()));
  const auto channels = static_cast<std::size_t>(dataset.info().sample_shape[2]);
  std::array<double, 10> counts{};
  double sum = 0;
  for (std::int64_t index = 0; index < dataset.count(split); ++index) {
    counts.at(static_cast<std::size_t>(dataset.read(split, index, pixels))) += 1;
    for (std::size_t i = 0; i < pixels.size(); i += channels) sum += pixels[i];
  }
  const auto samples = static_cast<double>(dataset.count(split));
  for (const double count : counts) EXPECT_NEAR(count / samples, 0.1, tolerance);
  const double mean = sum / samples / static_cast<double>(pixels.size() / channels) / 255;
  EXPECT_NEAR(mean, static_cast<double>(dataset.info().mean[0]), 0.005);
}

TEST(RealData, Cifar10) {
  const auto dataset = open_real("cifar10");
  if (dataset == nullptr) GTEST_SKIP() << "set THIMBLE_DATA to a folder that holds CIFAR-10 (binary version)";
  EXPECT_EQ(dataset->count(Split::train), 50'000);
  EXPECT_EQ(dataset->count(Split::test), 10'000);
  expect_ten_equal_classes(*dataset, Split::test, 0);
}

TEST(RealData, Mnist) {
  const auto dataset = open_real("mnist");
  if (dataset == nullptr) GTEST_SKIP() << "set THIMBLE_DATA to a folder that holds MNIST (IDX files)";
  EXPECT_EQ(dataset->count(Split::train), 60'000);
  EXPECT_EQ(dataset->count(Split::test), 10'000);
  EXPECT_EQ(dataset->info().sample_shape, Shape({28, 28, 1}));
  expect_ten_equal_classes(*dataset, Split::test, 0.015);
}

}  // namespace
}  // namespace thimble
