// The budget under the kernel's own limit: runs inside a cgroup whose limit is the budget. An OOM kill is a failed
// test.
#include <gtest/gtest.h>

#include "cli/memory_group.h"

namespace thimble::testing {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

std::int64_t smallest_budget(const Words& model) {
  Words words = {"plan"};
  words.insert(words.end(), model.begin(), model.end());
  words.insert(words.end(), {"--memory", "1MiB", "--json"});
  return run_thimble(words).json().at("smallest_budget_bytes").get<std::int64_t>();
}

Outcome train_with(const Words& model, std::int64_t budget) {
  Words words = {"train"};
  words.insert(words.end(), model.begin(), model.end());
  words.insert(words.end(), {"--steps", "2", "--json", "--progress", "none", "--memory", std::to_string(budget) + "B"});
  return run_thimble(words);
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
