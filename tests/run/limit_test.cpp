// Limits and pressure as the system's files tell them, from a folder of made-up files.
#include <gtest/gtest.h>

#include <filesystem>

#include "formats/support.h"
#include "run/limit_watch.h"

namespace thimble::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Limits : public ::testing::Test {
 protected:
  Limits() { put("proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n"); }

  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / path).parent_path());
    write_text_file(folder_ / path, text);
  }
  MeterFiles files() const { return {folder_ / "proc", folder_ / "cgroup"}; }
  Bytes limit() const { return memory_limit_bytes(files()); }

  TempFolder folder_;
};

TEST_F(Limits, WithoutGroupsItIsPhysicalMemory) { EXPECT_EQ(limit(), 8 * kGiB); }

TEST_F(Limits, OfVersionTwoAreMaxAndHighOfTheGroupAndAllAbove) {
  put("proc/self/cgroup", "0::/user.slice/run.scope\n");
  put("cgroup/user.slice/run.scope/memory.max", "max\n");
  put("cgroup/user.slice/run.scope/memory.high", "max\n");
  EXPECT_EQ(limit(), 8 * kGiB);
  put("cgroup/user.slice/memory.max", "1073741824\n");
  EXPECT_EQ(limit(), kGiB);
  put("cgroup/user.slice/run.scope/memory.high", "536870912\n");
  EXPECT_EQ(limit(), 512 * kMiB);
}

TEST_F(Limits, OfVersionOneAreHardAndSoft) {
  put("proc/self/cgroup", "4:cpu:/x\n3:memory:/a/b\n");
  put("cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  put("cgroup/memory/a/memory.limit_in_bytes", "268435456\n");
  EXPECT_EQ(limit(), 256 * kMiB);
  put("cgroup/memory/a/b/memory.soft_limit_in_bytes", "134217728\n");
  EXPECT_EQ(limit(), 128 * kMiB);
}

TEST_F(Limits, MalformedFilesBoundNothing) {
  put("proc/self/cgroup", "nonsense\n0:\n:::\n0::relative\n0::/g");
  put("cgroup/g/memory.max", "lots\n");
  put("cgroup/g/memory.high", "-5\n");
  EXPECT_EQ(limit(), 8 * kGiB);
}

class Watch : public Limits {
 protected:
  Watch() {
    put("proc/self/cgroup", "0::/g\n");
    put("cgroup/g/memory.max", "1073741824\n");
    stall(0);
  }
  void stall(std::int64_t microseconds) {
    put("cgroup/g/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(microseconds) +
                                        "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
  }

  LimitWatch::Clock::time_point now_{seconds(100)};
  LimitWatch::Sizes sizes_{.smaller = 80, .larger = 120};
};

TEST_F(Watch, FollowsALimitThatMoves) {
  LimitWatch watch(now_, files());
  EXPECT_EQ(watch.limit(), kGiB);
  put("cgroup/g/memory.high", "536870912\n");
  EXPECT_FALSE(watch.look(now_ + milliseconds(10), sizes_)) << "too early to look again";
  const auto news = watch.look(now_ + milliseconds(200), sizes_);
  ASSERT_TRUE(news);
  EXPECT_EQ(news->budget, 512 * kMiB);
  EXPECT_FALSE(watch.look(now_ + milliseconds(400), sizes_)) << "told once";
  put("cgroup/g/memory.high", "max\n");
  EXPECT_EQ(watch.look(now_ + milliseconds(600), sizes_)->budget, kGiB);
}

TEST_F(Watch, YieldsToPressureAPlanAtATimeAndComesBackWhenItIsCalm) {
  LimitWatch watch(now_, files());
  stall(50'000);  // a twentieth of a second
  EXPECT_FALSE(watch.look(now_ + seconds(1), sizes_));
  stall(350'000);
  EXPECT_EQ(watch.look(now_ + seconds(2), sizes_)->budget, 80);
  EXPECT_FALSE(watch.look(now_ + seconds(3), sizes_));
  EXPECT_FALSE(watch.look(now_ + seconds(31), sizes_)) << "not calm for long enough";
  EXPECT_EQ(watch.look(now_ + seconds(33), sizes_)->budget, 120);
  EXPECT_FALSE(watch.look(now_ + seconds(40), sizes_));
  sizes_.larger = 0;
  EXPECT_EQ(watch.look(now_ + seconds(64), sizes_)->budget, kGiB) << "no larger plan: all there is";
  EXPECT_FALSE(watch.look(now_ + seconds(128), sizes_));
}

TEST_F(Watch, OnTheSmallestPlanPressureChangesNothing) {
  LimitWatch watch(now_, files());
  stall(900'000);
  sizes_.smaller = 0;
  EXPECT_FALSE(watch.look(now_ + seconds(1), sizes_));
}

TEST_F(Watch, WithoutAGroupsOwnRecordTheSystemsCounts) {
  std::filesystem::remove(folder_ / "cgroup/g/memory.pressure");
  put("proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=120381\n");
  EXPECT_EQ(memory_stall_microseconds(files()), 120381);
  std::filesystem::remove(folder_ / "proc/pressure/memory");
  EXPECT_EQ(memory_stall_microseconds(files()), 0);
}

}  // namespace
}  // namespace thimble::testing
