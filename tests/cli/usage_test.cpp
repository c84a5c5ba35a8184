#include <gtest/gtest.h>

#include "cli/run_thimble.h"

namespace thimble::testing {
namespace {

struct Mistake {
  Words words;
  std::vector<std::string> said;  // on stderr
};

TEST(Usage, AMistakeEndsWithCodeOneAndSaysWhatWasWanted) {
  const std::vector<Mistake> mistakes = {
      {{"trian"}, {"no verb 'trian'", "did you mean 'train'"}},
      {{"--json", "plan"}, {"wanted a verb first"}},
      {{"plan"}, {"found no model"}},
      {{"plan", "wrn28-2", "lenet-300-100"}, {"second model 'lenet-300-100'"}},
      {{"plan", "lenet-300-10"}, {"no network 'lenet-300-10'", "did you mean 'lenet-300-100'"}},
      {{"plan", "wrn28-2", "--bacth", "10"}, {"'--bacth'", "did you mean '--batch'"}},
      {{"plan", "wrn28-2", "--zzzzzz"}, {"has no option '--zzzzzz'. 'thimble plan --help' lists them"}},
      {{"plan", "wrn28-2", "-batch", "10"}, {"two dashes", "did you mean '--batch'"}},
      {{"plan", "wrn28-2", "--resume", "x"}, {"'plan' has no option '--resume': it belongs to train"}},
      {{"plan", "wrn28-2", "--batch"}, {"--batch: found no value, wanted N"}},
      {{"plan", "wrn28-2", "--batch", "--json"}, {"--batch: found no value"}},
      {{"plan", "wrn28-2", "--batch", "0"}, {"--batch: found '0'", "at least 1"}},
      {{"plan", "wrn28-2", "--batch", "12.5"}, {"--batch: found '12.5'", "a whole number"}},
      {{"plan", "wrn28-2", "--json=yes"}, {"--json takes no value"}},
      {{"plan", "wrn28-2", "--memory", "32"}, {"without a unit", "32MiB"}},
      {{"plan", "wrn28-2", "--memory", "32XB"}, {"'32XB'", "MiB"}},
      {{"plan", "wrn28-2", "--memory", "120%"}, {"'120%'", "up to 100%"}},
      {{"plan", "wrn28-2", "--optimizer", "adam"}, {"found 'adam'", "did you mean 'adamw'"}},
      {{"plan", "wrn28-2", "--allow", "microbatch-nrom"}, {"'microbatch-nrom'", "did you mean 'microbatch-norm'"}},
      {{"plan", "wrn28-2", "--allow", "microbatch-norm,"}, {"a comma between each two"}},
      {{"plan", "wrn28-2", "--skip-pass", "simplfy"}, {"did you mean 'simplify'"}},
      {{"plan", "wrn28-2", "--microbatch", "200"}, {"found '200'", "the batch, 100"}},
      {{"plan", "wrn28-2", "--microbatch", "10"}, {"batch norm", "--allow microbatch-norm", "wrn28-2-gn"}},
      {{"plan", "wrn28-2", "--input", "32x32"}, {"'32x32'", "32x32x3"}},
      {{"plan", "wrn28-2", "--sparsity", "1"}, {"less than 1"}},
      {{"plan", "wrn28-2", "--data", "glyphs", "--classes", "4"}, {"the data set says it already"}},
      {{"plan", "wrn28-2", "--optimizer", "sgd", "--momentum", "0.9"}, {"sgd has none"}},
      {{"plan", "wrn28-2", "--config", "nowhere.toml"}, {"nowhere.toml"}},
      {{"train", "wrn28-2"}, {"found no --data", "thimble data"}},
      {{"train", "wrn28-2", "--data", "cifar10"}, {"THIMBLE_DATA"}},
      {{"train", "wrn28-2", "--data", "glyph"}, {"did you mean 'glyphs'"}},
      {{"train", "wrn28-2", "--data", "glyphs", "--epochs", "1", "--steps", "2"}, {"both epochs and steps"}},
      {{"train", "wrn28-2", "--data", "glyphs", "--lr-schedule", "steps"}, {"no --lr-steps"}},
      {{"train", "wrn28-2", "--data", "glyphs", "--lr-steps", "3"}, {"--lr-schedule steps"}},
      {{"train", "wrn28-2", "--data", "glyphs", "--out", "/proc/self/none"}, {"/proc/self/none"}},
      {{"train", "--resume", "/nonexistent/run"}, {"found no such folder", "--out"}},
      {{"train", "--resume", "/proc/self", "--out", "x"}, {"both --resume and --out"}},
      {{"train", "--resume", "/proc/self/task"}, {"neither options.toml nor checkpoints"}},
      {{"eval", "wrn28-2", "--data", "glyphs"}, {"found no --weights"}},
      {{"models", "wrn"}, {"takes no 'wrn'"}},
  };
  for (const Mistake& mistake : mistakes) {
    const Outcome outcome = run_thimble(mistake.words);
    std::string line;
    for (const std::string& word : mistake.words) line += word + " ";
    EXPECT_EQ(outcome.code, 1) << line << outcome.err;
    EXPECT_EQ(outcome.out, "") << line;
    for (const std::string& part : mistake.said)
      EXPECT_TRUE(contains(outcome.err, part)) << line << "\n" << outcome.err;
  }
}

TEST(Usage, HelpIsThereForEveryVerb) {
  EXPECT_EQ(run_thimble({"--help"}).code, 0);
  for (const std::string verb : {"train", "plan", "explore", "eval", "models", "ops", "data"}) {
    const Outcome outcome = run_thimble({verb, "--help"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_TRUE(contains(outcome.out, "Examples:")) << verb;
    EXPECT_TRUE(contains(outcome.out, "Exit codes:")) << verb;
    EXPECT_TRUE(contains(run_thimble({"--help"}).out, "  " + verb + " ")) << verb;
  }
  EXPECT_TRUE(contains(run_thimble({"train", "-h"}).out, "--lr-schedule constant|steps|cosine|one-cycle"));
}

TEST(Usage, WithoutAVerbTheHelpIsAnError) {
  const Outcome outcome = run_thimble({});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.err, "Usage: thimble VERB"));
}

TEST(Usage, VersionIsOneLine) { EXPECT_EQ(run_thimble({"--version"}).out.substr(0, 8), "thimble "); }

TEST(Lists, ListsAreJsonToo) {
  const nlohmann::json ops = run_thimble({"ops", "--json"}).json();
  EXPECT_GT(ops.size(), 30U);
  for (const auto& op : ops) EXPECT_FALSE(op.at("formula").get<std::string>().empty()) << op.at("name");
  EXPECT_EQ(run_thimble({"models", "--json"}).json().at(0).at("example"), "wrn28-2");
  for (const auto& set : run_thimble({"data", "--json"}).json()) {
    EXPECT_EQ(set.at("present").get<bool>(), set.at("name") == "glyphs");
  }
}

TEST(Lists, OpsSayWhatTheyAre) {
  const std::string text = run_thimble({"ops"}).out;
  EXPECT_TRUE(contains(text, "conv2d\n"));
  EXPECT_TRUE(contains(text, "gradient rules: "));
  EXPECT_TRUE(contains(text, "in place: output 0 over input 0"));
  EXPECT_TRUE(contains(text, "batch coupled"));
}

}  // namespace
}  // namespace thimble::testing
