#include "data/get.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "base/sha256.h"
#include "data/child_process.h"
#include "data/fake_tar.h"
#include "data/file.h"
#include "data/file_server.h"
#include "data/open.h"

namespace thimble {
namespace {

using namespace test;

std::string sum_of(const ByteList& bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.finish();
}

RemoteFile described(const std::string& name, const ByteList& bytes) {
  return {name, static_cast<std::int64_t>(bytes.size()), sum_of(bytes)};
}

ByteList cifar100_archive() {
  return gzip(make_tar({{"cifar-100-binary/", {}, '5'},
                        {"cifar-100-binary/train.bin", cifar100_records(0, 7)},
                        {"cifar-100-binary/test.bin", cifar100_records(40, 2)}}));
}

// CIFAR-100 in small, with its own sums.
struct SmallCifar {
  ByteList archive = cifar100_archive();
  FileServer server{{{"/data/c.tar.gz", archive}}};
  DatasetSource source{"cifar100", server.url() + "/data", {described("c.tar.gz", archive)}, "cifar-100-binary"};
  TemporaryFolder root;
  GetOptions options{.data_root = root.path() + "/new"};
};

std::int64_t train_count(const std::string& name, const std::string& root) {
  return open_dataset(name, {.data_root = root})->count(Split::train);
}

TEST(Get, FetchesChecksUnpacksAndLeavesNothingElse) {
  SmallCifar cifar;
  std::vector<std::string> news;
  cifar.options.tell = [&](const std::string& text) { news.push_back(text); };
  EXPECT_EQ(get_dataset(cifar.source, cifar.options), cifar.options.data_root + "/cifar-100-binary");
  EXPECT_EQ(train_count("cifar100", cifar.options.data_root), 7);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(cifar.options.data_root), {}), 1);
  EXPECT_EQ(news.size(), 2U);
  // Once it is there, nothing is asked for.
  get_dataset(cifar.source, cifar.options);
  EXPECT_EQ(cifar.server.requests(), std::vector<std::string>{"GET /data/c.tar.gz"});
}

TEST(Get, GoesOnWhereTheConnectionEnded) {
  SmallCifar cifar;
  cifar.server.hang_up_after = 400;
  const std::string half = "400 of " + std::to_string(cifar.archive.size()) + " bytes";
  expect_user_error([&] { get_dataset(cifar.source, cifar.options); },
                    {"/data/c.tar.gz", "curl failed with code 18", half, "run the same command again"});
  EXPECT_FALSE(is_folder(cifar.options.data_root + "/cifar-100-binary"));
  get_dataset(cifar.source, cifar.options);
  EXPECT_EQ(train_count("cifar100", cifar.options.data_root), 7);
  EXPECT_EQ(cifar.server.requests(), (std::vector<std::string>{"GET /data/c.tar.gz", "GET /data/c.tar.gz from 400"}));
}

TEST(Get, StartsAnewWhereTheServerCannotGoOn) {
  SmallCifar cifar;
  cifar.server.hang_up_after = 400;
  expect_user_error([&] { get_dataset(cifar.source, cifar.options); }, {"400 of"});
  cifar.server.ignores_ranges = true;
  get_dataset(cifar.source, cifar.options);
  EXPECT_EQ(train_count("cifar100", cifar.options.data_root), 7);
}

TEST(Get, ThrowsAwayWhatHasAnotherSum) {
  SmallCifar cifar;
  cifar.source.files[0].sha256 = std::string(64, '0');
  expect_user_error([&] { get_dataset(cifar.source, cifar.options); },
                    {"/data/c.tar.gz", "SHA-256 " + sum_of(cifar.archive), "wanted", std::string(64, '0')});
  EXPECT_FALSE(is_folder(cifar.options.data_root + "/cifar-100-binary"));
  EXPECT_FALSE(is_file(cifar.options.data_root + "/cifar-100-binary.download/c.tar.gz"));
}

TEST(Get, AWrongBeginningIsFetchedAgainByItself) {
  SmallCifar cifar;
  cifar.root.write("new/cifar-100-binary.download/c.tar.gz", ByteList(500, 7));
  get_dataset(cifar.source, cifar.options);
  EXPECT_EQ(train_count("cifar100", cifar.options.data_root), 7);
  EXPECT_EQ(cifar.server.requests(), (std::vector<std::string>{"GET /data/c.tar.gz from 500", "GET /data/c.tar.gz"}));
}

TEST(Get, AFileLongerThanPromisedIsNotTaken) {
  SmallCifar cifar;
  cifar.source.files[0].bytes = 100;
  expect_user_error([&] { get_dataset(cifar.source, cifar.options); }, {"found", "bytes", "wanted 100 with"});
}

TEST(Get, LeftoversOfAKilledUnpackingAreReplaced) {
  SmallCifar cifar;
  cifar.root.write("new/cifar-100-binary.unpacking/train.bin", {1, 2, 3});
  get_dataset(cifar.source, cifar.options);
  EXPECT_EQ(train_count("cifar100", cifar.options.data_root), 7);
  EXPECT_FALSE(is_folder(cifar.options.data_root + "/cifar-100-binary.unpacking"));
}

TEST(Get, SeveralFilesAreKeptAsTheyAre) {
  const TemporaryFolder made;
  write_fake_mnist(made, Packing::gzip);
  std::map<std::string, ByteList> files;
  DatasetSource source{"mnist", "http://127.0.0.1:1/nowhere", {}, "mnist"};
  for_each_entry(made.path(), [&](std::string_view name) {
    const InputFile file(join_path(made.path(), std::string(name)));
    ByteList bytes(static_cast<std::size_t>(file.size()));
    file.read_at(0, bytes);
    source.files.push_back(described(std::string(name), bytes));
    files["/" + std::string(name)] = bytes;
  });
  const FileServer server(files);
  const TemporaryFolder root;
  get_dataset(source, {.data_root = root.path(), .base_url = server.url() + "/"});
  EXPECT_EQ(train_count("mnist", root.path()), kFakeMnistTrain);
  EXPECT_EQ(root.entry_count(), 1);
}

TEST(Get, SaysWhatIsMissing) {
  SmallCifar cifar;
  cifar.options.base_url = cifar.server.url() + "/elsewhere";
  expect_user_error([&] { get_dataset(cifar.source, cifar.options); }, {"/elsewhere/c.tar.gz", "code 22", "0 of"});
  cifar.options.base_url = "ftp://x";
  expect_user_error([&] { get_dataset(cifar.source, cifar.options); }, {"'ftp://x/c.tar.gz'", "https://"});
  cifar.options.base_url = "";
  cifar.options.fetch.programs = {"no-such-program", "nor-this"};
  expect_user_error([&] { get_dataset(cifar.source, cifar.options); },
                    {"neither no-such-program nor nor-this", "install one"});
  expect_user_error([] { find_source("imagenet"); }, {"'imagenet'", "cifar10, cifar100, mnist"});
}

TEST(Get, WgetDoesItToo) {
  SmallCifar cifar;
  if (!run_child({"sh", "-c", "command -v wget >/dev/null"}, 1 << 20)->is_good()) GTEST_SKIP() << "there is no wget";
  cifar.options.fetch.programs = {"no-such-program", "wget"};
  cifar.root.write("new/cifar-100-binary.download/c.tar.gz", {cifar.archive.begin(), cifar.archive.begin() + 700});
  get_dataset(cifar.source, cifar.options);
  EXPECT_EQ(train_count("cifar100", cifar.options.data_root), 7);
  EXPECT_EQ(cifar.server.requests(), std::vector<std::string>{"GET /data/c.tar.gz from 700"});
}

TEST(Get, OneProcessAtATime) {
  SmallCifar cifar;
  cifar.root.write("new/cifar-100-binary.download/other", {});
  const Descriptor lock(
      ::open((cifar.options.data_root + "/cifar-100-binary.download").c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX), 0);
  expect_user_error([&] { get_dataset(cifar.source, cifar.options); }, {".download", "another process"});
}

TEST(Get, KnowsThePublishedDataSets) {
  for (const char* name : {"cifar10", "cifar100", "mnist"}) {
    const DatasetSource& source = find_source(name);
    EXPECT_TRUE(source.base_url.starts_with("https://"));
    for (const RemoteFile& file : source.files) {
      EXPECT_GT(file.bytes, 4000);
      EXPECT_EQ(file.sha256.size(), 64U) << file.name;
      EXPECT_EQ(file.sha256.find_first_not_of("0123456789abcdef"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace thimble
