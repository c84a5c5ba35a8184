// The budget under the kernel's own limit: runs inside a cgroup whose limit is the budget. An OOM kill is a failed
// test.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <thread>

#include "cli/run_thimble.h"
#include "support/memory_group.h"

namespace thimble::testing {
namespace {

std::int64_t smallest_budget(const Words& model) {
  const Words words = with(with({"plan"}, model), {"--memory", "1MiB", "--json"});
  return run_thimble(words).json().at("smallest_budget_bytes").get<std::int64_t>();
}

Outcome train_with(const Words& model, std::int64_t budget) {
  return run_thimble(with(with({"train"}, model),
                          {"--steps", "2", "--json", "--progress", "none", "--memory", std::to_string(budget) + "B"}));
}

TEST(Budget, HoldsInsideACgroupOfThatSize) {
  const Words models[] = {{"wrn10-1-gn", "--data", "glyphs", "--batch", "16", "--optimizer", "momentum"},
                          {"lenet-300-100", "--data", "glyphs", "--batch", "16", "--optimizer", "adamw"}};
  for (const Words& model : models) {
    const std::int64_t smallest = smallest_budget(model);
    for (const std::int64_t budget : {smallest, smallest + kMiB / 2, smallest + 3 * kMiB}) {
      const MemoryGroup group(budget);
      if (!group.is_made()) GTEST_SKIP() << "no writable cgroup v1 memory controller here";
      group.enter();
      const Outcome outcome = train_with(model, budget);
      MemoryGroup::leave();
      ASSERT_EQ(outcome.code, 0) << model[0] << " in " << budget << " bytes: " << outcome.err;
      EXPECT_LE(outcome.json().at("peak_rss_bytes").get<std::int64_t>(), budget);
    }
    EXPECT_EQ(train_with(model, smallest - kMiB).code, 3);
  }
}

// Flags of the program's own mappings that are never written, one line a mapping; what smaps says of them.
std::vector<std::string> flags_of_constant_parts(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::error_code ignored;
  const std::string program = std::filesystem::read_symlink(folder + "/exe", ignored).string();
  std::istringstream lines(read_text_file(folder + "/smaps"));
  std::vector<std::string> found;
  bool is_ours = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("VmFlags:")) {
      if (is_ours) found.push_back(line);
      is_ours = false;
    } else if (line.ends_with(program)) {
      is_ours = !program.empty() && (contains(line, " r--p ") || contains(line, " r-xp "));
    }
  }
  return found;
}

// What is being read from the disk cannot be taken back: near its limit, a group would be killed for pages read ahead.
TEST(Budget, ReadsNoCodeAheadOfItsUse) {
  std::vector<std::string> flags;
  const TempFolder folder;
  const Words more = {"--steps", "100000", "--progress", "none", "--out", folder / "run"};
  const Outcome outcome = run_thimble(tiny_train(more), [&](pid_t child) {
    for (int i = 0; i < 10000 && !std::filesystem::exists(folder / "run"); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    flags = flags_of_constant_parts(child);
    ::kill(child, SIGKILL);
  });
  ASSERT_EQ(outcome.code, -1) << outcome.err;
  ASSERT_FALSE(flags.empty());
  // The loader makes what it has relocated read-only: a part that is there before the program is, and once only.
  const auto is_read_ahead = [](const std::string& line) { return !contains(line, " rr"); };
  EXPECT_LE(std::ranges::count_if(flags, is_read_ahead), 1) << "of " << flags.size() << " mappings";
}

TEST(Budget, BesideItsTensorsTheProcessHoldsFourMebibytesAtMost) {
#ifndef NDEBUG
  GTEST_SKIP() << "code of a debug build is larger";
#endif
  constexpr std::int64_t kMost = 4 * kMiB;
  const TempFolder folder;
  const Outcome outcome =
      run_thimble({"train", "wrn28-2-gn", "--data", "glyphs", "--batch", "100", "--optimizer", "momentum", "--memory",
                   "32MiB", "--threads", "2", "--steps", "1", "--json", "--progress", "none", "--out", folder / "run"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json result = outcome.json();
  const std::int64_t peak = result.at("peak_rss_bytes"), arena = result.at("arena_bytes");
  EXPECT_LE(peak - arena, kMost) << "found " << peak << " bytes resident at the peak, of which " << arena
                                 << " are tensors; docs/decisions/light_process.md says what the rest should be";
}

}  // namespace
}  // namespace thimble::testing
