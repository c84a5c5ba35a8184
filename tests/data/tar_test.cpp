#include "data/tar.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/fake_tar.h"
#include "data/file.h"

namespace thimble {
namespace {

using namespace test;

ByteReader reader_of(const ByteList& bytes) {
  return [&bytes, at = std::size_t{0}](std::span<std::uint8_t> into) mutable {
    const std::size_t count = std::min(into.size(), bytes.size() - at);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, into.begin());
    at += count;
    return static_cast<std::int64_t>(count);
  };
}

void unpack(const ByteList& tar, const TemporaryFolder& into, const TarLimits& limits = {}) {
  unpack_tar(reader_of(tar), "a.tar", "inner", into.path(), limits);
}

ByteList contents_of(const std::string& path) {
  const InputFile file(path);
  ByteList bytes(static_cast<std::size_t>(file.size()));
  file.read_at(0, bytes);
  return bytes;
}

ByteList some_bytes(std::size_t size) {
  ByteList bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 11 + i / 256);
  return bytes;
}

TEST(Tar, WritesEveryFileOfTheFolder) {
  const TemporaryFolder folder;
  unpack(make_tar({{"inner/", {}, '5'},
                   {"inner/empty", {}},
                   {"inner/small.bin", some_bytes(5)},
                   {"./inner/block.bin", some_bytes(512)},
                   {"pax note", some_bytes(30), 'x'},
                   {"inner/large.bin", some_bytes(100'001)}}),
         folder);
  EXPECT_EQ(folder.entry_count(), 4);
  EXPECT_EQ(contents_of(folder.path() + "/empty"), ByteList{});
  EXPECT_EQ(contents_of(folder.path() + "/small.bin"), some_bytes(5));
  EXPECT_EQ(contents_of(folder.path() + "/block.bin"), some_bytes(512));
  EXPECT_EQ(contents_of(folder.path() + "/large.bin"), some_bytes(100'001));
}

TEST(Tar, LetsNothingOutOfTheFolder) {
  for (const char* path : {"/etc/x", "../x", "inner/../x", "inner/..", "inner/.", "inner/deeper/x", "other/x", "x",
                           "inner", "innerx/y", ".."}) {
    const TemporaryFolder folder;
    expect_user_error([&] { unpack(make_tar({{path, some_bytes(3)}}), folder); }, {"a.tar", path, "files in inner/"});
    EXPECT_EQ(folder.entry_count(), 0) << path;
  }
}

TEST(Tar, TakesNoLinksAndDevices) {
  for (const char kind : {'1', '2', '3', '4', '6', 'L', 'S'}) {
    const TemporaryFolder folder;
    expect_user_error(
        [&] {
          unpack(make_tar({{"inner/x", {}, kind}}), folder);
        },
        {"a.tar", "inner/x", std::string("kind '") + kind, "plain files"});
  }
}

TEST(Tar, NoticesATwinADamagedHeaderAndAnEarlyEnd) {
  const TemporaryFolder folder;
  const ByteList sound = make_tar({{"inner/x", some_bytes(2000)}});
  expect_user_error(
      [&] {
        unpack(sound + sound, folder);
        unpack(sound, folder);
      },
      {"x", "exists"});
  ByteList bad = sound;
  bad[3] ^= 1;
  expect_user_error([&] { unpack(bad, folder); }, {"a.tar", "header whose bytes sum to"});
  bad = sound;
  bad[130] = '9';
  expect_user_error([&] { unpack(bad, folder); }, {"a.tar"});
  for (const std::ptrdiff_t size : {0, 100, 511, 512, 513, 2000, 2511}) {
    const TemporaryFolder other;
    expect_user_error([&] { unpack({sound.begin(), sound.begin() + size}, other); }, {"a.tar"});
  }
}

TEST(Tar, KeepsItsLimits) {
  const TemporaryFolder folder;
  const ByteList tar = make_tar({{"inner/x", some_bytes(600)}, {"inner/y", some_bytes(600)}});
  expect_user_error([&] { unpack(tar, folder, {.files = 1}); }, {"more than 1 files"});
  const TemporaryFolder other;
  expect_user_error([&] { unpack(tar, other, {.bytes = 1000}); }, {"1000 bytes"});
}

}  // namespace
}  // namespace thimble
