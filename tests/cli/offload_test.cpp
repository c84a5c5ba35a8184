// --allow offload --spill DIR, as a user meets it.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include "cli/run_thimble.h"

namespace thimble::testing {
namespace {

Words small_run(const std::string& verb, const Words& more) {
  const Words words = {verb,           "wrn10-1-gn", "--data",      "glyphs", "--batch",   "16",
                       "--microbatch", "8",          "--recompute", "none",   "--threads", "1",
                       "--eval-every", "1000",       "--lr",        "0.01",   "--steps",   "4"};
  return with(words, more);
}

// The smallest budget that works, in bytes.
std::int64_t smallest_of_small_run(const Words& more) {
  const Outcome outcome = run_thimble(small_run("plan", with({"--memory", "1MiB", "--json"}, more)));
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  return outcome.json()["smallest_budget_bytes"];
}

std::string budget_text(std::int64_t bytes) { return std::to_string(bytes) + "B"; }

TEST(CliOffload, HoldsABudgetThatIsTooSmallWithoutItAndChangesNothing) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "spill");
  const std::int64_t budget = smallest_of_small_run({"--allow", "offload"});
  EXPECT_LT(budget, smallest_of_small_run({}));
  EXPECT_EQ(run_thimble(small_run("plan", {"--memory", budget_text(budget)})).code, 3);
  ASSERT_EQ(run_thimble(small_run("train", {"--out", folder / "plain"})).code, 0);
  const Outcome outcome =
      run_thimble(small_run("train", {"--out", folder / "spilled", "--memory", budget_text(budget), "--allow",
                                      "offload", "--spill", folder / "spill", "--json"}));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json facts = outcome.json();
  EXPECT_LE(facts["peak_rss_bytes"], budget);
  EXPECT_GT(facts["spill_bytes"], 0);
  EXPECT_GE(facts["moved_bytes"], facts["spill_bytes"]);
  EXPECT_GT(facts["transfer_seconds"], 0);
  EXPECT_TRUE(contains(facts["levers"].dump(), "offload")) << facts["levers"];
  const std::string plain = read_text_file(checkpoint_path(folder / "plain", 4, "state.safetensors"));
  EXPECT_FALSE(plain.empty());
  EXPECT_TRUE(plain == read_text_file(checkpoint_path(folder / "spilled", 4, "state.safetensors")));
  EXPECT_TRUE(std::filesystem::is_empty(folder / "spill"));
}

TEST(CliOffload, EndsAtTheStartWhereTheFileDoesNotFit) {
  const TempFolder folder;
  const std::string budget = budget_text(smallest_of_small_run({"--allow", "offload"}));
  const Words words = small_run("train", {"--memory", budget, "--allow", "offload", "--spill", folder / ""});
  const Outcome full = run_thimble(words, {}, [] {
    const rlimit limit{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
  });
  EXPECT_EQ(full.code, 1);
  EXPECT_TRUE(contains(full.err, "found no room for")) << full.err;
  EXPECT_FALSE(contains(full.out, "loss")) << full.out;
  Words elsewhere = words;
  elsewhere.back() = folder / "missing";
  const Outcome missing = run_thimble(elsewhere);
  EXPECT_EQ(missing.code, 1);
  EXPECT_TRUE(contains(missing.err, "found no way to make a file there: No such file or directory")) << missing.err;
}

TEST(CliOffload, OptionsGoTogether) {
  const Outcome alone = run_thimble(small_run("train", {"--spill", "/tmp"}));
  EXPECT_EQ(alone.code, 1);
  EXPECT_TRUE(contains(alone.err, "--spill: goes with --allow offload")) << alone.err;
  const Outcome nowhere = run_thimble(small_run("train", {"--allow", "offload"}));
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_TRUE(contains(nowhere.err, "wanted --spill DIR")) << nowhere.err;
  const Outcome speed = run_thimble(small_run("plan", {"--allow", "offload", "--spill-bandwidth", "fast"}));
  EXPECT_EQ(speed.code, 1);
  EXPECT_TRUE(contains(speed.err, "--spill-bandwidth")) << speed.err;
}

}  // namespace
}  // namespace thimble::testing
