// What goes wrong outside the program: full disks, missing rights, damaged files. A clear message, the right exit code,
// and the last good checkpoint goes on to the weights of a run that met no trouble.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <map>

#include "cli/run_thimble.h"

namespace thimble::testing {
namespace {

constexpr int kSavedSteps = 12;

// Saves every third iteration and keeps all four checkpoints, of some 11.5 MB each.
Words saving_run(const std::string& folder) {
  return {"train", "lenet-300-100", "--data", "glyphs", "--batch", "16",         "--threads", "1",     "--steps",
          "12",    "--save-every",  "3",      "--keep", "9",       "--progress", "none",      "--out", folder};
}

Words resumed_run(const std::string& folder) { return {"train", "--resume", folder, "--progress", "none"}; }

const std::string& weights_of_an_untroubled_run() {
  static const std::string weights = [] {
    const TempFolder folder;
    return run_thimble(saving_run(folder / "run")).code == 0 ? weights_of(folder / "run", kSavedSteps) : std::string();
  }();
  return weights;
}

void expect_resume_ends_well(const std::string& run) {
  const Outcome resumed = run_thimble(resumed_run(run));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_FALSE(weights_of_an_untroubled_run().empty());
  EXPECT_TRUE(weights_of(run, kSavedSteps) == weights_of_an_untroubled_run());
}

std::map<std::string, std::string> contents_of(const std::string& folder) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) contents[entry.path().string()] = read_text_file(entry.path().string());
  }
  return contents;
}

// A file system of a stated size in a name space of mounts that only this process and its children see.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path, const std::string& options) : path_(path) {
    std::filesystem::create_directory(path_);
    is_made_ = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("tmpfs", path_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (is_made_) ::umount2(path_.c_str(), MNT_DETACH);
  }

  bool is_made() const { return is_made_; }
  void remake(const std::string& options, unsigned long flags = 0) const {
    ASSERT_EQ(::mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | flags, options.c_str()), 0);
  }

 private:
  std::string path_;
  bool is_made_ = false;
};

TEST(FullDisk, StopsTheRunWithItsLastCheckpointWhole) {
  const TempFolder folder;
  const SmallDisk disk(folder / "disk", "size=30m");
  if (!disk.is_made()) GTEST_SKIP() << "no right to mount a small disk";
  const std::string run = folder / "disk/run";
  const Outcome outcome = run_thimble(saving_run(run));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "No space left on device")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "free some space or choose another folder")) << outcome.err;
  EXPECT_FALSE(weights_of(run, 6).empty());
  EXPECT_TRUE(weights_of(run, 9).empty());
  EXPECT_EQ(run_thimble({"eval", "lenet-300-100", "--data", "glyphs", "--threads", "1", "--weights", run}).code, 0);
  disk.remake("size=64m");
  expect_resume_ends_well(run);
}

TEST(FullDisk, FromTheStartIsSaidAtTheStart) {
  const TempFolder folder;
  const SmallDisk disk(folder / "disk", "size=4k");
  if (!disk.is_made()) GTEST_SKIP() << "no right to mount a small disk";
  write_text_file(folder / "disk/taken", std::string(4096, 'x'));
  const Outcome outcome = run_thimble(saving_run(folder / "disk/run"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "No space left on device")) << outcome.err;
}

TEST(FullDisk, BehindStdoutIsNoSuccess) {
  for (const Words& words : {Words{"plan", "lenet-300-100", "--threads", "1"}, Words{"models", "--json"},
                             tiny_train({"--json", "--progress", "none"})}) {
    const Outcome outcome = run_thimble(words, {}, put_full_disk_behind_stdout);
    EXPECT_EQ(outcome.code, 1) << words[0];
    EXPECT_TRUE(contains(outcome.err, "cannot write to stdout")) << words[0] << outcome.err;
  }
}

TEST(FileSizeLimit, StopsTheRunWithAMessage) {
  const TempFolder folder;
  const std::string run = folder / "run";
  const Outcome outcome = run_thimble(saving_run(run), {}, [] {
    const rlimit limit{1'000'000, 1'000'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  });
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "File too large")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "ulimit -f")) << outcome.err;
  expect_resume_ends_well(run);
}

TEST(Unwritable, FolderIsNamedBeforeAnythingIsPlanned) {
  const TempFolder folder;
  const SmallDisk disk(folder / "disk", "size=1m");
  if (!disk.is_made()) GTEST_SKIP() << "no right to mount a disk that takes no writes";
  disk.remake("size=1m", MS_RDONLY);
  for (const std::string& out : {folder / "disk", folder / "disk/run"}) {
    const Outcome outcome = run_thimble(tiny_train({"--out", out}));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(contains(outcome.err, out)) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "Read-only file system")) << outcome.err;
  }
}

TEST(Unwritable, AFileInPlaceOfAFolderIsNamed) {
  const TempFolder folder;
  write_text_file(folder / "file", "mine");
  for (const std::string& out : {folder / "file", folder / "file/run"}) {
    const Outcome outcome = run_thimble(tiny_train({"--out", out}));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.err, (folder / "file") + ": there is a file of that name")) << outcome.err;
  }
  EXPECT_EQ(read_text_file(folder / "file"), "mine");
}

class DamagedRun : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(run_thimble(saving_run(run)).code, 0); }

  std::string in(int iteration, const std::string& file) const { return checkpoint_path(run, iteration, file); }
  void cut(const std::string& path) const { std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2); }
  void flip_a_bit(const std::string& path) const {
    std::string bytes = read_text_file(path);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    write_text_file(path, bytes);
  }

  TempFolder folder;
  std::string run = folder / "run";
};

TEST_F(DamagedRun, GoesOnFromTheNewestCheckpointThatIsWhole) {
  cut(in(12, "model.safetensors"));
  flip_a_bit(in(9, "state.safetensors"));
  std::filesystem::remove(in(6, "trainer_state.json"));
  const Outcome resumed = run_thimble({"train", "--resume", run});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  for (const char* name : {"step-000000012", "step-000000009", "step-000000006"}) {
    EXPECT_TRUE(contains(resumed.out, "passed over " + run + "/" + name)) << resumed.out;
  }
  EXPECT_TRUE(contains(resumed.out, "step-000000003 after 3 of 12 iterations")) << resumed.out;
  EXPECT_TRUE(weights_of(run, kSavedSteps) == weights_of_an_untroubled_run());
}

TEST_F(DamagedRun, WithoutAnyWholeCheckpointIsRefusedAndLeftAsItIs) {
  for (const int iteration : {3, 6, 9, 12}) cut(in(iteration, "state.safetensors"));
  const auto before = contents_of(run);
  const Outcome outcome = run_thimble(resumed_run(run));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "none of its 4 checkpoints is whole")) << outcome.err;
  EXPECT_TRUE(contents_of(run) == before);
  const Outcome measured = run_thimble({"eval", "lenet-300-100", "--data", "glyphs", "--weights", run});
  EXPECT_EQ(measured.code, 1);
  EXPECT_TRUE(contains(measured.err, "no complete checkpoint")) << measured.err;
}

TEST_F(DamagedRun, OptionsThatCannotBeReadAreNamedAndNothingIsChanged) {
  const std::string options = read_text_file(run + "/options.toml");
  const std::map<std::string, std::string> damages = {
      {options.substr(0, options.size() - 2), "options.toml:"},
      {"batch = \"many\"\n", "options.toml:1: batch: found a string"},
      {std::string("\0\xff\x01", 3), "options.toml:1:"},
      {"model = \"wrn10-1\"\ndata = \"glyphs\"\nbatch = 16\n", "model was \"lenet-300-100\", is \"wrn10-1\""}};
  for (const auto& [damage, said] : damages) {
    write_text_file(run + "/options.toml", damage);
    const auto before = contents_of(run);
    const Outcome outcome = run_thimble(resumed_run(run));
    EXPECT_EQ(outcome.code, 1) << damage;
    EXPECT_TRUE(contains(outcome.err, said)) << damage << "\n" << outcome.err;
    EXPECT_TRUE(contents_of(run) == before) << damage;
  }
  std::filesystem::remove(run + "/options.toml");
  EXPECT_TRUE(contains(run_thimble(resumed_run(run)).err, "give the model and its options as they were"));
}

TEST_F(DamagedRun, WeightsThatAreCutOrOfAnotherNetworkAreRefused) {
  const Words eval = {"eval", "lenet-300-100", "--data", "glyphs", "--threads", "1", "--weights"};
  const std::string file = in(12, "model.safetensors");
  ASSERT_EQ(run_thimble(with(eval, {file})).code, 0);
  const Outcome other = run_thimble({"eval", "wrn10-1", "--data", "glyphs", "--threads", "1", "--weights", file});
  EXPECT_EQ(other.code, 1);
  EXPECT_TRUE(contains(other.err, "does not hold this network: 'conv1.weight' is missing")) << other.err;
  cut(file);
  for (const Words& words : {with(eval, {file}), tiny_train({"--progress", "none", "--weights", file})}) {
    const Outcome outcome = run_thimble(words);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.err, file)) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, "cut off") || contains(outcome.err, "bytes")) << outcome.err;
  }
}

// Six files in CIFAR-10's format, 40 records each; pixels differ from place to place.
void write_small_cifar(const std::string& folder) {
  std::filesystem::create_directory(folder);
  const std::vector<std::string> names = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                          "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
  int sample = 0;
  for (const std::string& name : names) {
    std::string bytes;
    for (int record = 0; record < 40; ++record, ++sample) {
      bytes += static_cast<char>(sample % 10);
      for (int k = 0; k < 3072; ++k) bytes += static_cast<char>((sample * 31 + k * 7 + k / 256) % 256);
    }
    write_text_file(folder + "/" + name, bytes);
  }
}

Words cifar_run(const std::string& data, const std::string& out) {
  return {"train", "lenet-300-100", "--data", data,         "--batch", "10",    "--threads", "1", "--steps",
          "20",    "--save-every",  "1",      "--progress", "none",    "--out", out};
}

TEST(DamagedData, IsRefusedAtTheStartWhereItsSizeIsWrong) {
  const TempFolder folder;
  write_small_cifar(folder / "data");
  std::filesystem::resize_file(folder / "data/data_batch_4.bin", 5000);
  const Outcome outcome = run_thimble(cifar_run(folder / "data", folder / "run"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "data_batch_4.bin: found 5000 bytes, wanted a multiple of 3073")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST(DamagedData, FoundInTheMiddleKeepsTheLastCheckpointAndGoesOnOnceRepaired) {
  const TempFolder folder;
  write_small_cifar(folder / "data");
  ASSERT_EQ(run_thimble(cifar_run(folder / "data", folder / "whole")).code, 0);
  const std::string file = folder / "data/data_batch_2.bin", good = read_text_file(file);
  std::string bad = good;
  bad[3073 * 7] = '\x63';
  write_text_file(file, bad);
  const Outcome outcome = run_thimble(cifar_run(folder / "data", folder / "run"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "data_batch_2.bin: at offset 21511 found label 99, wanted 0 to 9")) << outcome.err;
  write_text_file(file, good);
  const Outcome resumed = run_thimble(resumed_run(folder / "run"));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_FALSE(weights_of(folder / "whole", 20).empty());
  EXPECT_TRUE(weights_of(folder / "run", 20) == weights_of(folder / "whole", 20));
}

}  // namespace
}  // namespace thimble::testing
