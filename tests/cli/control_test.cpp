// Budgets that change while the real program trains: through its pipe, whatever is written there, and by a limit.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "cli/run_thimble.h"
#include "support/memory_group.h"

namespace thimble::testing {
namespace {

constexpr int kSteps = 40;

Words network() {
  return {"wrn10-1-gn", "--data", "glyphs",  "--batch",    "32",   "--microbatch", "16",
          "--threads",  "1",      "--steps", "40",         "--lr", "0.01",         "--eval-every",
          "1000000",    "--seed", "5",       "--progress", "none"};
}

Words command(const std::string& verb, const Words& more) { return with(with({verb}, network()), more); }

struct Range {
  std::int64_t smallest = 0, largest = 0;

  std::string at(double share) const {
    return std::to_string(smallest + static_cast<std::int64_t>(share * static_cast<double>(largest - smallest))) + "B";
  }
};

Range budget_range() {
  const auto figures = [](const Words& more) { return run_thimble(command("plan", more)).json(); };
  return {figures({"--control", "none", "--json", "--memory", "1MiB"}).at("smallest_budget_bytes").get<std::int64_t>(),
          figures({"--control", "none", "--json"}).at("process_bytes").get<std::int64_t>()};
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Waits until `text` stands `count` times in the file, or the child has ended, or a minute has passed.
bool wait_for(pid_t child, const std::string& path, const std::string& text, std::size_t count) {
  for (int i = 0; i < 30000; ++i) {
    if (count_of(read_text_file(path), text) >= count) return true;
    siginfo_t ended = {};
    waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid != 0) return count_of(read_text_file(path), text) >= count;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

// As `echo LINE > PIPE` does: opens, writes, closes. Gives up if nobody reads.
void write_line(const std::string& pipe, const std::string& text) {
  const int file = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK);
  if (file < 0) return;
  const ssize_t written = ::write(file, text.data(), text.size());
  EXPECT_EQ(written, static_cast<ssize_t>(text.size()));
  ::close(file);
}

TEST(Control, BudgetsThatFallAndRiseAreHeldAndChangeNoBit) {
  const TempFolder folder;
  ASSERT_EQ(run_thimble(command("train", {"--out", folder / "steady"})).code, 0);
  const Range range = budget_range();
  const std::string pipe = folder / "pipe", metrics = folder / "changing/metrics.jsonl";
  const Outcome outcome =
      run_thimble(command("train", {"--out", folder / "changing", "--control", pipe, "--json"}), [&](pid_t child) {
        wait_for(child, metrics, "\"loss\"", 3);
        std::size_t changes = 0;
        for (const double share : {0.5, 0.0, 0.3, 0.1, 1.0, 0.0}) {
          write_line(pipe, "memory " + range.at(share) + "\n");
          wait_for(child, metrics, "budget_before_bytes", ++changes);
          wait_for(child, metrics, "\"loss\"", count_of(read_text_file(metrics), "\"loss\"") + 2);
        }
        write_line(pipe, "status\n");
      });
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json segments = outcome.json().at("segments");
  ASSERT_EQ(segments.size(), 7U) << segments;
  for (const nlohmann::json& segment : segments) {
    if (segment.at("budget_bytes").is_null()) continue;
    EXPECT_LE(segment.at("promised_bytes"), segment.at("budget_bytes")) << segment;
    EXPECT_EQ(segment.at("delay_microbatches"), 1) << segment;
    if (segment.at("peak_rss_bytes").is_null()) GTEST_SKIP() << "this system does not let the peak be reset";
    EXPECT_LE(segment.at("peak_rss_bytes"), segment.at("budget_bytes")) << segment;
  }
  EXPECT_EQ(segments[2].at("promised_bytes"), range.smallest);
  EXPECT_GT(segments[5].at("arena_bytes"), segments[6].at("arena_bytes"));
  EXPECT_TRUE(contains(outcome.err, "resident now")) << outcome.err;
  EXPECT_EQ(outcome.json().at("iterations"), kSteps);
  EXPECT_FALSE(weights_of(folder / "steady", kSteps).empty());
  EXPECT_TRUE(weights_of(folder / "changing", kSteps) == weights_of(folder / "steady", kSteps));
  EXPECT_FALSE(std::filesystem::exists(pipe)) << "a pipe made here is removed";
}

TEST(Control, WhateverIsWrittenTrainingGoesOn) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe", metrics = folder / "run/metrics.jsonl";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const Outcome outcome =
      run_thimble(command("train", {"--out", folder / "run", "--control", pipe, "--json"}), [&](pid_t child) {
        wait_for(child, metrics, "\"loss\"", 1);
        write_line(pipe, "memory 1MiB\nmemory\nmemory 64\nmem");
        write_line(pipe, "ory -3MiB\nMEMORY 64MiB\nstatus please\n\n   \n");
        write_line(pipe, std::string("\x00\xff\x1b[31m\n", 8));
        wait_for(child, metrics, "\"loss\"", count_of(read_text_file(metrics), "\"loss\"") + 1);
        for (int i = 0; i < 10; ++i) write_line(pipe, std::string(3000, static_cast<char>('a' + i)));
        write_line(pipe, "\nmemory 99999999999999999999GiB\nmemory nan%\nmemory 1e400MiB\n");
        const int held = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK);  // a writer that stays and says nothing more
        wait_for(child, metrics, "\"loss\"", kSteps);
        ::close(held);
      });
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().at("iterations"), kSteps);
  EXPECT_EQ(outcome.json().at("segments").size(), 1U);
  EXPECT_TRUE(contains(outcome.err, "a budget of 1,048,576 B (1.0 MiB) is refused")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, ": the smallest that works is")) << outcome.err;
  EXPECT_TRUE(contains(outcome.err, "more lines are refused")) << outcome.err;
  EXPECT_FALSE(contains(outcome.err, "\x1b")) << "control bytes must not reach a terminal";
  EXPECT_TRUE(std::filesystem::exists(pipe)) << "a pipe found here stays";
}

TEST(Control, WantsAPipeOrNothingAtItsPath) {
  const TempFolder folder;
  write_text_file(folder / "file", "precious");
  const Outcome outcome = run_thimble(command("train", {"--control", folder / "file"}));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "wanted a named pipe or nothing")) << outcome.err;
  EXPECT_EQ(read_text_file(folder / "file"), "precious");
  EXPECT_EQ(run_thimble(command("train", {"--control", folder / "no/such/folder"})).code, 1);
  const Outcome lever = run_thimble(command("train", {"--allow", "microbatch-change"}));
  EXPECT_EQ(lever.code, 1);
  EXPECT_TRUE(contains(lever.err, "goes with a budget that changes")) << lever.err;
}

TEST(Control, KilledDuringAChangeARunContinuesToTheSameBitsUnderAnyBudget) {
  const TempFolder folder;
  ASSERT_EQ(run_thimble(command("train", {"--out", folder / "steady"})).code, 0);
  const Range range = budget_range();
  for (const int change : {1, 4}) {
    const std::string run = folder / std::to_string(change), pipe = run + ".pipe";
    const Outcome killed =
        run_thimble(command("train", {"--out", run, "--control", pipe, "--save-every", "3"}), [&](pid_t child) {
          wait_for(child, run + "/metrics.jsonl", "\"loss\"", 2);
          for (int k = 1; k <= change; ++k) {
            write_line(pipe, "memory " + range.at(k % 2 == 0 ? 1 : 0.1 * k) + "\n");
            if (k < change) wait_for(child, run + "/metrics.jsonl", "budget_before_bytes", static_cast<std::size_t>(k));
          }
          // The last change lies in the pipe or is under way, earlier or later with each turn.
          std::this_thread::sleep_for(std::chrono::milliseconds(7 * change));
          kill(child, SIGKILL);
        });
    ASSERT_EQ(killed.code, -1);
    const Outcome resumed = run_thimble({"train", "--resume", run, "--memory", range.at(0.2), "--json"});
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(resumed.json().at("iterations"), kSteps);
    EXPECT_TRUE(weights_of(run, kSteps) == weights_of(folder / "steady", kSteps)) << change;
  }
}

TEST(Control, AutoFollowsALimitThatMoves) {
  const TempFolder folder;
  const Range range = budget_range();
  const MemoryGroup group(range.largest + 64 * kMiB);
  if (!group.is_made()) GTEST_SKIP() << "no writable cgroup v1 memory controller here";
  if (!group.set("memory.soft_limit_in_bytes", range.largest + 32 * kMiB))
    GTEST_SKIP() << "this cgroup has no soft limit";
  const std::string metrics = folder / "run/metrics.jsonl";
  const std::int64_t low = (range.smallest + kMiB) / 4096 * 4096;
  const Outcome outcome = run_thimble(
      command("train", {"--out", folder / "run", "--memory", "auto", "--json", "--steps", "200"}),
      [&](pid_t child) {
        wait_for(child, metrics, "\"loss\"", 3);
        group.set("memory.soft_limit_in_bytes", low);
        wait_for(child, metrics, "budget_before_bytes", 1);
        group.set("memory.soft_limit_in_bytes", range.largest + 32 * kMiB);
        wait_for(child, metrics, "budget_before_bytes", 2);
        kill(child, SIGINT);
      },
      [&] { group.enter(); });
  ASSERT_TRUE(outcome.code == 130 || outcome.code == 0) << outcome.err;
  const nlohmann::json segments = outcome.json().at("segments");
  ASSERT_EQ(segments.size(), 3U) << segments << outcome.err;
  EXPECT_EQ(segments[1].at("budget_bytes"), low);
  EXPECT_LE(segments[1].at("peak_rss_bytes"), low);
  EXPECT_GT(segments[2].at("arena_bytes"), segments[1].at("arena_bytes"));
}

}  // namespace
}  // namespace thimble::testing
