// The spill file and the thread that serves it.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "run/arena.h"
#include "run/mover.h"

namespace thimble {
namespace {

constexpr Bytes kSpillStaging = 4 * kSpillBlock;

std::vector<std::byte> noise(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> result(bytes);
  const RandomKey key = random_key(seed, RandomPurpose::test, 0);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(random_below(key, i, 256));
  return result;
}

// On a disk, beside this source's build: temporary folders may be memory.
class Spill : public ::testing::TestWithParam<bool> {
 protected:
  Spill() : folder_(std::filesystem::current_path() / "spill_test_folder"), arena_(kSpillStaging) {
    std::filesystem::create_directories(folder_);
  }
  ~Spill() override { std::filesystem::remove_all(folder_); }

  std::span<std::byte> staging() const { return {arena_.data(), static_cast<std::size_t>(kSpillStaging)}; }
  std::string folder() const { return folder_.string(); }

  std::filesystem::path folder_;
  Arena arena_;
};

TEST_P(Spill, GivesBackWhatWasWrittenWhateverItsLength) {
  SpillFile file(folder(), 64 * kSpillBlock, staging(), GetParam());
  Bytes offset = 0;
  std::vector<std::pair<Bytes, std::vector<std::byte>>> written;
  // Less than a block, a block, more than the staging, and odd ends.
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{16384},
                                  std::size_t{16385}, std::size_t{50001}}) {
    written.emplace_back(offset, noise(bytes, bytes));
    ASSERT_EQ(file.write(offset, written.back().second), Status::good);
    offset += round_up(static_cast<Bytes>(bytes), kSpillBlock);
  }
  for (const auto& [place, bytes] : written) {
    std::vector<std::byte> found(bytes.size());
    ASSERT_EQ(file.read(place, found), Status::good);
    EXPECT_EQ(found, bytes) << place;
  }
  EXPECT_EQ(file.error(), "");
}

TEST_P(Spill, LeavesNoNameBehind) {
  const SpillFile file(folder(), 8 * kSpillBlock, staging(), GetParam());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

// The descriptor of the one open file in the folder; it has no name, but the system knows where it was made.
int descriptor_in(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored).string().starts_with(folder + "/"))
      return std::stoi(entry.path().filename().string());
  }
  return -1;
}

std::int64_t cached_pages(int file, Bytes bytes) {
  void* pages = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_SHARED, file, 0);
  if (pages == MAP_FAILED) return -1;
  std::vector<unsigned char> is_cached(static_cast<std::size_t>(bytes / 4096));
  const int code = mincore(pages, static_cast<std::size_t>(bytes), is_cached.data());
  munmap(pages, static_cast<std::size_t>(bytes));
  if (code != 0) return -1;
  return std::count_if(is_cached.begin(), is_cached.end(), [](unsigned char page) { return (page & 1) != 0; });
}

TEST_P(Spill, LeavesNothingInThePageCache) {
  constexpr Bytes kMuch = 8 * kMiB;
  SpillFile file(folder(), kMuch, staging(), GetParam());
  if (file.is_in_memory()) GTEST_SKIP() << "the build folder is memory itself";
  std::vector<std::byte> bytes = noise(1 << 20, 1);
  for (Bytes offset = 0; offset < kMuch; offset += kMiB) {
    ASSERT_EQ(file.write(offset, bytes), Status::good);
    ASSERT_EQ(file.read(offset, bytes), Status::good);
  }
  const int descriptor = descriptor_in(folder());
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(cached_pages(descriptor, kMuch), 0);
}

TEST_P(Spill, ReportsAFailureAndRemembersTheFirst) {
  SpillFile file(folder(), 2 * kSpillBlock, staging(), GetParam());
  std::vector<std::byte> bytes(16);
  EXPECT_EQ(file.read(64 * kSpillBlock, bytes), Status::failed);
  EXPECT_NE(file.error().find("could not read the spill file: it ended early"), std::string::npos) << file.error();
}

TEST_P(Spill, FindsOutAtTheStartThatThereIsNoRoom) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit low{static_cast<rlim_t>(kMiB), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  std::string message;
  try {
    const SpillFile file(folder(), 16 * kMiB, staging(), GetParam());
  } catch (const UserError& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(message.find("found no room for 16,777,216 B"), std::string::npos) << message;
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_P(Spill, IsRefusedWhereThereIsNoFolder) {
  EXPECT_THROW(SpillFile(folder() + "/missing", kSpillBlock, staging(), GetParam()), UserError);
}

TEST_P(Spill, MovesInTheOrderOfTheStarts) {
  SpillFile file(folder(), 64 * kSpillBlock, staging(), GetParam());
  Mover mover(file, 3);  // fewer than are started below: starts wait for room
  std::vector<std::vector<std::byte>> sources;
  for (std::uint64_t k = 0; k < 8; ++k) sources.push_back(noise(20000, k));
  std::vector<std::vector<std::byte>> targets(8, std::vector<std::byte>(20000));
  // Each value is stored to the same place and loaded from there before the next one overwrites it.
  for (std::size_t k = 0; k < 8; ++k) {
    mover.start({Direction::store, sources[k], 4 * kSpillBlock});
    mover.start({Direction::load, targets[k], 4 * kSpillBlock});
  }
  EXPECT_EQ(mover.started(), 16U);
  ASSERT_EQ(mover.wait(16), Status::good);
  EXPECT_EQ(targets, sources);
  EXPECT_GT(mover.times().moving_seconds, 0);
  // All is done: who waits now waits no more.
  const double waited = mover.times().waiting_seconds;
  ASSERT_EQ(mover.wait(16), Status::good);
  EXPECT_EQ(mover.times().waiting_seconds, waited);
}

TEST_P(Spill, FailsEveryWaitAfterAFailure) {
  SpillFile file(folder(), 4 * kSpillBlock, staging(), GetParam());
  Mover mover(file, 4);
  std::vector<std::byte> bytes(100), untouched(100, std::byte{7});
  EXPECT_EQ(mover.wait(mover.start({Direction::load, bytes, 0})), Status::good);
  EXPECT_EQ(mover.wait(mover.start({Direction::load, bytes, 100 * kSpillBlock})), Status::failed);
  EXPECT_EQ(mover.wait(mover.start({Direction::load, untouched, 0})), Status::failed);
  EXPECT_EQ(untouched, std::vector<std::byte>(100, std::byte{7})) << "nothing is moved after a failure";
}

INSTANTIATE_TEST_SUITE_P(Ways, Spill, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "direct" : "through_the_page_cache"; });

}  // namespace
}  // namespace thimble
