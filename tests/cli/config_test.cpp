#include <gtest/gtest.h>

#include "cli/run_thimble.h"

namespace thimble::testing {
namespace {

Outcome plan_with(const std::string& config, const Words& more = {}) {
  const TempFolder folder;
  write_text_file(folder / "run.toml", config);
  return run_thimble(with({"plan", "--json", "--threads", "1", "--config", folder / "run.toml"}, more));
}

TEST(Config, GivesModelAndOptions) {
  const Outcome outcome = plan_with("model = \"lenet-300-100\"\nbatch = 24\nmicrobatch = 8\nmemory = \"64MiB\"\n");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.json().at("model"), "lenet-300-100");
  EXPECT_EQ(outcome.json().at("batch"), 24);
  EXPECT_EQ(outcome.json().at("microbatch"), 8);
  EXPECT_EQ(outcome.json().at("budget_bytes"), 64 * 1024 * 1024);
}

TEST(Config, FlagsWin) {
  const Outcome outcome = plan_with("model = \"lenet-300-100\"\nbatch = 24\n", {"--batch", "12"});
  EXPECT_EQ(outcome.json().at("batch"), 12);
  EXPECT_EQ(plan_with("model = \"wrn28-2\"\n", {"lenet-300-100"}).json().at("model"), "lenet-300-100");
  EXPECT_EQ(plan_with("model = \"lenet-300-100\"\nepochs = 3\n", {"--steps", "2"}).code, 0);
}

TEST(Config, KeysOfOtherVerbsArePassedOver) {
  EXPECT_EQ(plan_with("model = \"lenet-300-100\"\nlr-steps = [1, 2.5]\nskip-pass = [\"simplify\"]\nlr = 1\n").code, 0);
  const TempFolder folder;
  write_text_file(folder / "run.toml", "model = \"lenet-300-100\"\nlr = 0.5\nout = \"runs/a\"\n");
  EXPECT_EQ(run_thimble({"explore", "--threads", "1", "--config", folder / "run.toml"}).code, 0);
}

struct ConfigMistake {
  std::string config;
  std::vector<std::string> said;
};

TEST(Config, AMistakeIsNamedWithItsLine) {
  const std::vector<ConfigMistake> mistakes = {
      {"model = \"lenet-300-100\"\nbacth = 3\n", {"run.toml:2: bacth", "did you mean 'batch'"}},
      {"\n\nbatch = \"ten\"\n", {"run.toml:3: batch: found a string, wanted a whole number"}},
      {"batch = 1.5\n", {"run.toml:1: batch: found a number with a fraction"}},
      {"batch = 0\n", {"run.toml:1: batch: found '0'", "at least 1"}},
      {"optimizer = \"adam\"\n", {"run.toml:1: optimizer", "did you mean 'adamw'"}},
      {"memory = 32\n", {"found a whole number, wanted a string in quotes: SIZE"}},
      {"json = 1\n", {"found a whole number, wanted true or false"}},
      {"[optimizer]\nlr = 1\n", {"optimizer: found a table"}},
      {"allow = [true]\n", {"found an array, wanted an array such as"}},
      {"model = 3\n", {"run.toml:1: model: found a whole number"}},
      {"config = \"b.toml\"\n", {"config: there is no such option in a file"}},
      {"batch = \n", {"run.toml:1: "}},
      {"a = 1\na = 2\n", {"run.toml:2: "}},
  };
  for (const ConfigMistake& mistake : mistakes) {
    const Outcome outcome = plan_with(mistake.config);
    EXPECT_EQ(outcome.code, 1) << mistake.config;
    for (const std::string& part : mistake.said) {
      EXPECT_TRUE(contains(outcome.err, part)) << mistake.config << "\n" << outcome.err;
    }
  }
}

TEST(Config, AHugeFileIsRefusedUnread) {
  EXPECT_TRUE(contains(plan_with(std::string(100'000, '#')).err, "wanted a config file of at most"));
}

}  // namespace
}  // namespace thimble::testing
