#include "data/mnist.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <csignal>

#include "data/fake_files.h"
#include "data/idx.h"

namespace thimble {
namespace {

using namespace test;

class MnistPacking : public testing::TestWithParam<Packing> {};
INSTANTIATE_TEST_SUITE_P(, MnistPacking, testing::Values(Packing::plain, Packing::gzip),
                         [](const auto& test) { return test.param == Packing::plain ? "Plain" : "Gzip"; });

TEST_P(MnistPacking, ReadsEverySample) {
  const TemporaryFolder folder;
  write_fake_mnist(folder, GetParam());
  const auto dataset = open_mnist(folder.path(), "");
  EXPECT_EQ(dataset->info().sample_shape, Shape({6, 5, 1}));
  EXPECT_EQ(dataset->count(Split::train), kFakeMnistTrain);
  EXPECT_EQ(dataset->count(Split::test), kFakeMnistTest);
  std::array<std::uint8_t, 30> pixels;
  for (const Split split : {Split::train, Split::test}) {
    for (std::int64_t sample = 0; sample < dataset->count(split); ++sample) {
      EXPECT_EQ(dataset->read(split, sample, pixels), sample % 10);
      for (std::int64_t k = 0; k < 30; ++k) ASSERT_EQ(pixels[static_cast<std::size_t>(k)], fake_pixel(sample, k));
    }
  }
}

TEST_P(MnistPacking, LeavesNothingBehindInTheFolder) {
  const TemporaryFolder folder;
  write_fake_mnist(folder, GetParam());
  const auto dataset = open_mnist(folder.path(), "");
  EXPECT_EQ(folder.entry_count(), 4);
}

TEST(Mnist, NamesAMissingFile) {
  const TemporaryFolder folder;
  write_fake_mnist(folder, Packing::gzip);
  folder.remove("t10k-labels-idx1-ubyte.gz");
  expect_user_error([&] { open_mnist(folder.path(), ""); }, {folder.path(), "t10k-labels-idx1-ubyte"});
}

TEST(Mnist, RefusesLabelsOutOfRange) {
  const TemporaryFolder folder;
  write_fake_mnist(folder, Packing::plain);
  ByteList labels = idx_labels(kFakeMnistTrain);
  labels[8 + 4] = 17;
  folder.write("train-labels-idx1-ubyte", labels);
  expect_user_error([&] { open_mnist(folder.path(), ""); }, {"train-labels", "item 4", "label 17", "wanted 0 to 9"});
}

TEST(Mnist, RefusesMoreLabelsThanImages) {
  const TemporaryFolder folder;
  write_fake_mnist(folder, Packing::plain);
  folder.write("train-labels-idx1-ubyte", idx_labels(kFakeMnistTrain + 1));
  expect_user_error([&] { open_mnist(folder.path(), ""); }, {"train-labels", "found 8 labels", "wanted 7"});
}

TEST(Mnist, RefusesTestImagesOfAnotherSize) {
  const TemporaryFolder folder;
  write_fake_mnist(folder, Packing::plain);
  folder.write("t10k-images-idx3-ubyte", idx_images(kFakeMnistTest, 5, 6));
  expect_user_error([&] { open_mnist(folder.path(), ""); }, {"t10k-images", "[5,6]", "wanted [6,5]"});
}

// ---- IDX files by themselves

struct BadIdx {
  const char* name;
  ByteList bytes;
  std::vector<std::string> parts;  // of the message
};

class IdxRefuses : public testing::TestWithParam<BadIdx> {};

TEST_P(IdxRefuses, WithAMessageThatNamesFoundAndWanted) {
  const TemporaryFolder folder;
  const std::string path = folder.write("images", GetParam().bytes);
  expect_user_error([&] { open_idx(InputFile(path), 3, ""); }, GetParam().parts);
}

ByteList changed(ByteList bytes, std::size_t place, std::uint8_t value) {
  bytes[place] = value;
  return bytes;
}

ByteList without_last(ByteList bytes, std::size_t count) {
  bytes.resize(bytes.size() - count);
  return bytes;
}

const ByteList kImages = idx_images(4, 3, 3);
const ByteList kPacked = gzip(kImages);
const ByteList kZeros(1'000'000);

INSTANTIATE_TEST_SUITE_P(
    , IdxRefuses,
    testing::Values(
        BadIdx{"Nothing", {}, {"offset 0", "found 0 bytes", "wanted 16"}},
        BadIdx{"HalfAHeader", without_last(idx_header(2051, {4, 3, 3}), 5), {"found 11 bytes", "wanted 16"}},
        BadIdx{"Labels", idx_labels(20), {"offset 0", "magic number 2049", "wanted 2051"}},
        BadIdx{"WrongElementType", changed(kImages, 2, 0x0d), {"magic number 3331", "wanted 2051"}},
        BadIdx{"Truncated", without_last(kImages, 1), {"found 51 bytes", "wanted 52", "4 items of 9"}},
        BadIdx{"TooLong", kImages + ByteList{0}, {"found 53 bytes", "wanted 52"}},
        BadIdx{"NoItems", idx_header(2051, {0, 3, 3}), {"offset 4", "dimension 0", "wanted 1 to"}},
        BadIdx{"HugeSide", idx_header(2051, {1, 3, 4'000'000'000U}), {"offset 12", "dimension 4000000000", "1024"}},
        BadIdx{"HugeCount", idx_header(2051, {0xffffffffU, 3, 3}), {"offset 4", "dimension 4294967295"}},
        BadIdx{"PackedHalfAHeader",
               gzip(idx_header(2051, {4, 3})),
               {"unpacked", "found 12 bytes", "wanted a header of 16"}},
        BadIdx{"PackedWrongMagic", gzip(idx_labels(20)), {"magic number 2049", "wanted 2051"}},
        BadIdx{"PackedTooShort", gzip(without_last(kImages, 4)), {"unpacked", "found 32 bytes", "wanted 36"}},
        BadIdx{"PackedTooLong", gzip(kImages + ByteList{0}), {"unpacked", "found more than 36 bytes"}},
        BadIdx{"Bomb", gzip(kImages + kZeros), {"found more than 36 bytes"}},
        BadIdx{
            "PromiseOfABomb", gzip(idx_header(2051, {2'000'000'000, 1000, 1000})), {"states 2000000000000000 bytes"}},
        BadIdx{"CutStream", without_last(kPacked, 12), {"found the end of the file", "gzip stream"}},
        BadIdx{"WrongChecksum", changed(kPacked, kPacked.size() - 8, 0), {"incorrect data check", "valid gzip stream"}},
        BadIdx{"BadGzipMethod", changed(kPacked, 2, 7), {"unknown compression method"}},
        BadIdx{"OnlyGzipMagic", {0x1f, 0x8b}, {"found the end of the file"}},
        BadIdx{"BytesBehindTheStream", kPacked + ByteList{1, 2, 3}, {"found 3 bytes behind the gzip stream"}}),
    [](const auto& test) { return test.param.name; });

TEST(Idx, UnpacksToTheScratchFolderWhereTheOwnFolderTakesNoFile) {
  const TemporaryFolder folder, scratch;
  const std::string path = folder.write("images.gz", kPacked);
  // A path for messages that leads nowhere stands for a folder that cannot be written.
  const auto unwritable = [&] {
    return InputFile(Descriptor(::open(path.c_str(), O_RDONLY)), "/nonexistent/images.gz");
  };
  expect_user_error([&] { open_idx(unwritable(), 3, ""); }, {"/nonexistent/images.gz", "scratch file", "No such file"});
  const IdxArray array = open_idx(unwritable(), 3, scratch.path());
  std::uint8_t byte = 0;
  array.file.read_at(array.item_offset(3) + 8, {&byte, 1});
  EXPECT_EQ(byte, fake_pixel(3, 8));
}

// Stands for a full disk: files of this process may not grow beyond `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(Idx, SaysSoWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const std::string path = folder.write("images.gz", gzip(idx_images(100, 28, 28)));
  const FileSizeLimit limit(40'000);
  expect_user_error([&] { open_idx(InputFile(path), 3, ""); }, {"images.gz", "scratch file", "took 40000 bytes"});
}

}  // namespace
}  // namespace thimble
